package scenario

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// After 101 the connection is the caller's, and stays in the books until it is closed.

// upgrades answers 101 with early bytes in the same segment, and then echoes until the
// client ends its side, to which it says bye.
func upgrades(early string) script {
	return func(c *peerConn) {
		for {
			q, err := c.whole()
			if err != nil {
				return
			}
			if q.Header.Get("Upgrade") == "" {
				if c.answer(q) != nil {
					return
				}
				continue
			}
			c.say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n%s", early)
			io.Copy(c, c.br)
			c.say("bye")
			return
		}
	}
}

func newUpgrade(ctx context.Context, url string) *call {
	c := newCall(ctx, http.MethodGet, url, noBody)
	c.Header.Set("Connection", "Upgrade")
	c.Header.Set("Upgrade", "echo")
	return c
}

// A tunnel is what the body of a 101 has to be.
type tunnel interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// upgrade sends c and returns its tunnel.
func upgrade(t *testing.T, do doer, c *call) tunnel {
	t.Helper()
	resp, err := do(c.Request)
	if err != nil {
		t.Fatal(err)
	}
	tun, ok := resp.Body.(tunnel)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("got %d with a body of type %T", resp.StatusCode, resp.Body)
	}
	return tun
}

// eachTunnelFront leaves out the Client with a Timeout: it wraps the body, as with net/http.
func eachTunnelFront(t *testing.T, test func(*testing.T, *rig, front)) {
	t.Helper()
	eachFront(t, func(t *testing.T, r *rig, f front) {
		if f.name != clientTimeout.name {
			test(t, r, f)
		}
	})
}

func TestAnUpgradedConnectionDeliversWhatCameWithTheAnswer(t *testing.T) {
	eachTunnelFront(t, func(t *testing.T, r *rig, f front) {
		for _, early := range []string{"", "e", "early bytes", mibBody[:100<<10]} {
			p := r.peer(upgrades(early))
			tun := upgrade(t, f.over(r.pool(pool.Config{})), newUpgrade(t.Context(), p.url))
			io.WriteString(tun, " and echo")
			if err := tun.CloseWrite(); err != nil {
				t.Errorf("CloseWrite: %v", err)
			}
			b, err := io.ReadAll(tun)
			if want := early + " and echo" + "bye"; string(b) != want || err != nil {
				t.Errorf("read %d bytes, %v; want %d", len(b), err, len(want))
			}
			tun.Close()
		}
	})
}

func TestAnUpgradedConnectionTakesItsSlotUntilItIsClosed(t *testing.T) {
	eachTunnelFront(t, func(t *testing.T, r *rig, f front) {
		p := r.peer(upgrades("hi"))
		tr := r.pool(pool.Config{MaxConnsPerHost: 1, MaxWait: 100 * time.Millisecond})
		do := f.over(tr)
		do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody)) // it may be a reused one
		tun := upgrade(t, do, newUpgrade(t.Context(), p.url))
		err := do.send(newCall(t.Context(), http.MethodPost, p.url, oneShot))
		if e := poolError(t, err); !errors.Is(err, pool.ErrWaitTimeout) || e.Phase != pool.PhaseWait {
			t.Errorf("while the tunnel is open: %v", err)
		}
		if g := gauges(tr); g != (counts{Open: 1, InUse: 1}) {
			t.Errorf("while the tunnel is open the gauges are %+v", g)
		}
		tr.CloseIdleConnections() // it isn't idle
		br := bufio.NewReader(tun)
		io.WriteString(tun, "!\n")
		if s, err := br.ReadString('\n'); s != "hi!\n" || err != nil {
			t.Errorf("read %q, %v", s, err)
		}
		tun.Close()
		do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
		if n := tr.Stats().Total.ClosedBy[pool.ReasonUpgraded]; n != 1 {
			t.Errorf("%d connections count as upgraded, want 1: %v", n, tr.Stats().Total.ClosedBy)
		}
		if _, err := tun.Write([]byte("x")); err == nil {
			t.Error("a Write after Close succeeds")
		}
	})
}

func TestAnUpgradedConnectionEndsWithItsContext(t *testing.T) {
	eachTunnelFront(t, func(t *testing.T, r *rig, f front) {
		p := r.peer(upgrades(""))
		tr := r.pool(pool.Config{MaxConnsPerHost: 1})
		do := f.over(tr)
		ctx, cancel := context.WithCancel(t.Context())
		tun := upgrade(t, do, newUpgrade(ctx, p.url))
		read := make(chan error, 1)
		go func() {
			_, err := tun.Read(make([]byte, 1))
			read <- err
		}()
		cancel()
		if err := <-read; !errors.Is(err, context.Canceled) {
			t.Errorf("the Read ended with %v", err)
		}
		do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot)) // its slot is free
		tun.Close()
	})
}

func TestCloseEndsUpgradedConnections(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		p := r.peer(upgrades("hello"))
		tr := r.pool(pool.Config{})
		tun := upgrade(t, over(tr, retry.Default()), newUpgrade(t.Context(), p.url))
		if _, err := io.ReadFull(tun, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := tun.Read(make([]byte, 1))
			read <- err
		}()
		tr.Close()
		if err := <-read; err == nil || err == io.EOF {
			t.Errorf("the Read ended with %v", err)
		}
		tun.Close()
	})
}

// A refused upgrade is an answer like any other.
func TestARefusedUpgradeKeepsItsConnection(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		p := r.peer((*peerConn).serveWhole)
		do := f.over(r.pool(pool.Config{MaxConnsPerHost: 1}))
		do.must(t, newUpgrade(t.Context(), p.url))
		do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
		if p.conns() != 1 {
			t.Errorf("%d connections, want 1", p.conns())
		}
	})
}
