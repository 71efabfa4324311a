package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
)

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: host %q has answered, want %s", what, got, want)
	}
}

func wantDials(t *testing.T, tn *town, n, want int) {
	t.Helper()
	if got := tn.dialled(n); got != want {
		t.Errorf("host %d was dialled %d times, want %d", n, got, want)
	}
}

// oneOfEach leaves an idle connection to hosts 2 and 3 each, that to 3 the newer one.
func oneOfEach(t *testing.T, tn *town, tr *Transport) {
	t.Helper()
	n, release2, err := tn.ask(tr)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the first", n, "2")
	n, release3, err := tn.ask(tr, 2)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the second", n, "3")
	release2()
	release3()
}

func TestAvoidAddrAmongIdleConnections(t *testing.T) {
	tn := newTown(t, 2, 3)
	tn.serve(2, nil)
	tn.serve(3, nil)
	tr := tn.pool(Config{})
	oneOfEach(t, tn, tr)
	want(t, "avoiding the newer one's", tn.get(tr, 3), "2")
	want(t, "avoiding the newer one's", tn.get(tr, 2), "3")
	want(t, "avoiding nothing", tn.get(tr), "3")
	want(t, "avoiding what isn't there", tn.get(tr, 4), "3")
	if total := tr.Stats().Total; total.Dials != 2 {
		t.Errorf("%d dials, want 2", total.Dials)
	}
}

// All connections lead to the avoided address. As the name has another one, that is dialled.
func TestAvoidAddrDialsElsewhere(t *testing.T) {
	tn := newTown(t, 2, 3)
	tn.serve(2, nil)
	tn.serve(3, nil)
	tr := tn.pool(Config{})
	want(t, "the first", tn.get(tr), "2")
	want(t, "the second", tn.get(tr, 2), "3")
	wantDials(t, tn, 2, 1)
	wantDials(t, tn, 3, 1)
	// Both are avoided: any will do.
	want(t, "avoiding both", tn.get(tr, 2, 3), "3")
}

// Where the preference can't be met it's as if it hadn't been said.
func TestAvoidAddrIsAPreference(t *testing.T) {
	t.Run("limit", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		tn.serve(2, nil)
		tn.serve(3, nil)
		tr := tn.pool(Config{MaxConnsPerHost: 1, MaxWait: time.Minute})
		want(t, "the first", tn.get(tr), "2")
		want(t, "avoiding it", tn.get(tr, 2), "2")
		wantDials(t, tn, 3, 0)
	})
	t.Run("one address", func(t *testing.T) {
		tn := newTown(t, 2)
		tn.serve(2, nil)
		tr := tn.pool(Config{})
		for range 3 {
			want(t, "avoiding the only one", tn.get(tr, 2), "2")
		}
		wantDials(t, tn, 2, 1)
	})
	t.Run("the other one refuses", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		tn.serve(2, nil)
		tr := tn.pool(Config{})
		for range 3 {
			want(t, "avoiding the only one that works", tn.get(tr, 2), "2")
		}
	})
	t.Run("TLS fails at the other one", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		srv := tn.serve(2, nil, (*httptest.Server).StartTLS)
		tn.serve(3, nil) // speaks plain HTTP
		tlsConfig := srv.Client().Transport.(*http.Transport).TLSClientConfig
		tr := tn.pool(Config{Base: &http.Transport{TLSClientConfig: tlsConfig, TLSNextProto: noHTTP2}})
		want(t, "the first", tn.get(tr), "2")
		want(t, "avoiding it", tn.get(tr, 2), "2")
		wantDials(t, tn, 3, 1)
	})
}

// Over HTTP/2 the connections that are in use are chosen from likewise; none is opened beside
// one that takes requests.
func TestAvoidAddrAmongSharedConnections(t *testing.T) {
	tn := newTown(t, 2, 3)
	var hold atomic.Bool
	held, release := make(chan struct{}, 2), make(chan struct{})
	http2 := func(srv *httptest.Server) { srv.EnableHTTP2 = true; srv.StartTLS() }
	do := func(w http.ResponseWriter, _ *http.Request) {
		if hold.Load() {
			held <- struct{}{}
			<-release
		}
	}
	srv := tn.serve(2, do, http2)
	tn.serve(3, do, http2)
	tlsConfig := srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	tlsConfig.NextProtos = nil
	tr := tn.pool(Config{Base: &http.Transport{TLSClientConfig: tlsConfig}})
	want(t, "the first", tn.get(tr), "2")
	want(t, "avoiding it", tn.get(tr, 2), "2")
	wantDials(t, tn, 3, 0)

	// A second connection, as the first one has no free stream for now.
	hold.Store(true)
	done := make(chan string, 2)
	ask := func(avoid ...int) {
		n, end, err := tn.ask(tr, avoid...)
		if err != nil {
			t.Error(err)
		} else {
			end()
		}
		done <- n
	}
	go ask()
	<-held
	h := tr.allHosts()[0]
	h.mu.Lock()
	first := h.shared[0]
	first.limit = 1
	h.placeLocked(first)
	h.mu.Unlock()
	go ask(2)
	<-held
	first.StreamLimit(100)
	hold.Store(false)
	eventually(t, "both take requests", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.shared) == 2
	})
	want(t, "avoiding the first", tn.get(tr, 2), "3")
	want(t, "avoiding the second", tn.get(tr, 3), "2")
	want(t, "avoiding the first again", tn.get(tr, 2), "3")
	close(release)
	if a, b := <-done, <-done; a == b {
		t.Errorf("both were answered by %s", a)
	}
}

var noHTTP2 = map[string]func(string, *tls.Conn) http.RoundTripper{}

// A dial hook is told what to avoid.
func TestAvoidAddrReachesAHook(t *testing.T) {
	tn := newTown(t, 2, 3)
	tn.serve(2, hangUp)
	seen := make(chan []string, 1)
	tr, err := New(Config{Base: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		seen <- dialer.Avoided(ctx)
		return (&net.Dialer{}).DialContext(ctx, network, tn.addr(2))
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	tn.ask(tr, 3)
	if got := <-seen; len(got) != 1 || got[0] != tn.addr(3) {
		t.Errorf("the hook has seen %v", got)
	}
}

// Without an answer from a fresh connection its address is tried last for a while, by others
// too; a failure after answers says nothing.
func TestAddressesThatAreOfNoUse(t *testing.T) {
	ask := func(tn *town, tr *Transport) *Error {
		t.Helper()
		_, _, err := tn.ask(tr)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("the error is %v", err)
		}
		return e
	}
	t.Run("fresh", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		tn.serve(2, hangUp)
		tn.serve(3, nil)
		tr := tn.pool(Config{})
		if e := ask(tn, tr); e.Phase != PhaseSent || e.Addr != tn.addr(2) {
			t.Errorf("the error is %#v", e)
		}
		want(t, "the next", tn.get(tr), "3")
		tr.CloseIdleConnections()
		want(t, "the one after", tn.get(tr), "3")
		wantDials(t, tn, 2, 1)
	})
	t.Run("used", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		var n atomic.Int32
		tn.serve(2, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 2 {
				hangUp(w, r)
			}
		})
		tn.serve(3, nil)
		tr := tn.pool(Config{})
		want(t, "the first", tn.get(tr), "2")
		if e := ask(tn, tr); !e.Reused {
			t.Errorf("the error is %#v", e)
		}
		want(t, "the next", tn.get(tr), "2")
	})
	t.Run("better now", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		var n atomic.Int32
		tn.serve(2, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 1 {
				hangUp(w, r)
			}
		})
		tn.serve(3, nil)
		tr := tn.pool(Config{})
		ask(tn, tr)
		want(t, "avoiding the good one", tn.get(tr, 3), "3") // 2 has failed, which is worse
		tr.set.dialer.Memory.Worked(tn.addr(2))
		want(t, "avoiding the good one", tn.get(tr, 3), "2")
	})
	t.Run("an answer makes good", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		tn.serve(2, nil)
		tr := tn.pool(Config{})
		tr.set.dialer.Memory.Failed(tn.addr(2))
		tn.serve(3, nil)
		both := tn.addrs
		tn.addrs = both[:1]
		want(t, "with one address", tn.get(tr), "2")
		tr.CloseIdleConnections()
		tn.addrs = both
		want(t, "from then on", tn.get(tr), "2")
	})
	t.Run("HTTP/2", func(t *testing.T) {
		tn := newTown(t, 2, 3)
		tn.raw(2, func(c net.Conn) { c.Close() })
		tn.serve(3, nil, func(srv *httptest.Server) {
			srv.Config.Protocols = new(http.Protocols)
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
		})
		p := new(http.Protocols)
		p.SetUnencryptedHTTP2(true)
		tr := tn.pool(Config{Base: &http.Transport{Protocols: p}})
		if n, _, err := tn.ask(tr); err == nil { // replaced, if its end was seen in time
			want(t, "the first", n, "3")
		}
		want(t, "the next", tn.get(tr), "3")
		wantDials(t, tn, 2, 1)
	})
}

// Where descriptors or ports have run out each request fails by itself, in the dial, and
// nothing runs in circles.
func TestDialsThatThisHostCannotMake(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EMFILE} {
		tn := newTown(t, 2, 3)
		var sockets atomic.Int32
		tr := tn.pool(Config{})
		tr.set.dialer.Control = func(string, string, syscall.RawConn) error {
			sockets.Add(1)
			return errno
		}
		const n = 50
		errs := make(chan error, n)
		for range n {
			go func() {
				_, _, err := tn.ask(tr)
				errs <- err
			}()
		}
		for range n {
			err := <-errs
			e, _ := errors.AsType[*Error](err)
			d, _ := errors.AsType[*dialer.Error](err)
			if e == nil || d == nil || !e.Phase.Unprocessed() || e.Phase != PhaseDial || d.Stage != dialer.StageConnect || !errors.Is(err, errno) {
				t.Fatalf("the error is %v", err)
			}
		}
		// Two addresses, and package net tries three times where the kernel has no address.
		if s := sockets.Load(); s > n*2*3 {
			t.Errorf("%d requests have asked for %d sockets", n, s)
		}
		if total := tr.Stats().Total; total.Dials > n {
			t.Errorf("%d requests have made %d dials", n, total.Dials)
		}
	}
}

// raw plays a script on each connection to host n.
func (tn *town) raw(n int, script func(net.Conn)) {
	tn.t.Helper()
	l, err := net.Listen("tcp", tn.addr(n))
	if err != nil {
		tn.t.Fatal(err)
	}
	done := make(chan struct{})
	tn.t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			script(c)
		}
	}()
}
