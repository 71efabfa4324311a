package pool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/fakenet"
)

// A moody is a server whose connections end in each way that the pool learns from, suspects or
// asks about: by its idle timer, by another one before their first request, by a restart, or in
// silence.
type moody struct {
	mu    sync.Mutex
	r     *rand.Rand
	conns map[net.Conn]bool
}

func (m *moody) chance(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r.IntN(n) == 0
}

func (m *moody) serve(nc net.Conn) {
	m.mu.Lock()
	m.conns[nc] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.conns, nc)
		m.mu.Unlock()
		nc.Close()
	}()
	br := bufio.NewReader(nc)
	for idle := 2 * time.Second; ; idle = time.Second {
		nc.SetReadDeadline(time.Now().Add(idle))
		if _, err := br.Peek(1); err != nil {
			return
		}
		nc.SetReadDeadline(time.Time{})
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if m.chance(40) {
			io.Copy(io.Discard, br) // forgotten on the way
			return
		}
		if req.Header.Get("Expect") != "" && !m.chance(20) {
			io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		io.Copy(io.Discard, req.Body)
		if _, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

func (m *moody) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for nc := range m.conns {
		nc.Close()
	}
}

// Lanes of requests of all kinds over a limit, in front of a moody server: each request ends,
// and in the end nothing is lost.
func TestIdleConnectionsOfAMoodyServer(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { moodyRun(t, seed) })
		})
	}
}

func moodyRun(t *testing.T, seed uint64) {
	m := &moody{r: rand.New(rand.NewPCG(seed, 0)), conns: map[net.Conn]bool{}}
	var servers sync.WaitGroup
	base := &http.Transport{ResponseHeaderTimeout: 3 * time.Second, MaxIdleConns: 4}
	base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := fakenet.Pipe()
		servers.Go(func() { m.serve(server) })
		return client, nil
	}
	tr, err := New(Config{Base: base, MaxConnsPerHost: 1 + int(seed)%6, ConfirmAfter: 300 * ms})
	if err != nil {
		t.Fatal(err)
	}
	var lanes sync.WaitGroup
	for i := range uint64(6) {
		lane := rand.New(rand.NewPCG(seed, 1+i))
		lanes.Go(func() {
			for range 400 {
				time.Sleep(time.Duration(lane.Int64N(int64(2500 * ms))))
				m.mood(tr, lane)
				moodyRequest(t, tr, lane)
			}
		})
	}
	lanes.Wait()
	st := tr.Stats()
	tr.Close()
	servers.Wait()
	synctest.Wait()
	(&script{T: t, tr: tr}).wantAtRest()
	if h := st.Hosts[0]; h.Waiting != 0 || h.InUse != 0 {
		t.Errorf("%d waiting, %d in use", h.Waiting, h.InUse)
	}
	for _, reason := range []CloseReason{ReasonPeerClosed, ReasonIdleLimit, ReasonUnconfirmed, ReasonTimeout} {
		if st.Total.ClosedBy[reason] == 0 {
			t.Errorf("no connection was closed by %q: there was no life in the run", reason)
		}
	}
}

// mood does something to the connections now and then.
func (m *moody) mood(tr *Transport, r *rand.Rand) {
	switch r.IntN(80) {
	case 0:
		tr.CloseIdleConnections()
	case 1:
		tr.Drain("host.test:80")
	case 2:
		tr.Stats()
	case 3:
		m.restart()
	}
}

func moodyRequest(t *testing.T, tr *Transport, r *rand.Rand) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.IntN(10) == 0 {
		time.AfterFunc(time.Duration(r.Int64N(int64(ms))), cancel)
	}
	method, body := []string{"GET", "POST", "DELETE", "POST"}[r.IntN(4)], io.Reader(nil)
	if method == "POST" && r.IntN(2) == 0 {
		body = strings.NewReader("payload")
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://host.test/", body)
	if err != nil {
		t.Error(err)
		return
	}
	start := time.Now()
	resp, err := tr.RoundTrip(req)
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}
