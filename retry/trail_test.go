package retry

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// countedConn is a connection with a count of its bytes; whoever is at its other end reads all.
func countedConn(t *testing.T) net.Conn {
	t.Helper()
	g, err := pool.NewGuard(pool.GuardConfig{DialContext: func(context.Context, string, string) (net.Conn, error) {
		c, other := net.Pipe()
		go io.Copy(io.Discard, other)
		return c, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.DialContext(t.Context(), "tcp", "a.test:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestTrail: all connections that an attempt got have to be untouched since.
func TestTrail(t *testing.T) {
	a, b := countedConn(t), countedConn(t)
	io.WriteString(a, "of an earlier request")
	uncounted, other := net.Pipe()
	defer uncounted.Close()
	defer other.Close()
	use := func(c net.Conn) { io.WriteString(c, "x") }
	tests := []struct {
		name string
		play func(got func(net.Conn))
		want trail
	}{
		{"none", func(func(net.Conn)) {}, trailNone},
		{"untouched", func(got func(net.Conn)) { got(a) }, trailUntouched},
		{"used", func(got func(net.Conn)) { got(a); use(a) }, trailUsed},
		{"twice", func(got func(net.Conn)) { got(a); got(a) }, trailUntouched},
		{"twice, used in between", func(got func(net.Conn)) { got(a); use(a); got(a) }, trailUsed},
		{"two, the first used", func(got func(net.Conn)) { got(a); use(a); got(b) }, trailUsed},
		{"two, the second used", func(got func(net.Conn)) { got(a); got(b); use(b) }, trailUsed},
		{"two untouched", func(got func(net.Conn)) { got(a); got(b) }, trailUntouched},
		{"one without a count", func(got func(net.Conn)) { got(a); got(uncounted) }, trailUsed},
		{"no connection at all", func(got func(net.Conn)) { got(nil) }, trailUsed},
		{"too many", func(got func(net.Conn)) {
			for range maxConns + 1 {
				got(a)
			}
		}, trailUsed},
	}
	for _, tt := range tests {
		tr := &Transport{Base: &http.Transport{}}
		req, e := tr.track(newRequest(t, "POST", strings.NewReader("body")), false)
		tt.play(func(c net.Conn) {
			httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{Conn: c})
		})
		if got := e.trail(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestWeigh: what the trail shows completes what the error says, and corrects a dial's.
func TestWeigh(t *testing.T) {
	c := countedConn(t)
	dial := &dialer.Error{Stage: dialer.StageConnect, Err: errWire}
	for _, tt := range []struct {
		name      string
		err       error
		got, used bool
		want      Outcome
	}{
		{"no trail", errWire, false, false, Outcome{}},
		{"untouched", errWire, true, false, Outcome{Phase: pool.PhaseUnsent}},
		{"used", errWire, true, true, Outcome{}},
		{"a dial", dial, false, false, Outcome{Phase: pool.PhaseDial, Stage: dialer.StageConnect}},
		{"a dial after an untouched connection", dial, true, false, Outcome{Phase: pool.PhaseDial, Stage: dialer.StageConnect}},
		{"a dial after a used one", dial, true, true, Outcome{Phase: pool.PhaseDial, Stage: dialer.StageConnect, Earlier: true}},
		{"a wait after a used one", failed(pool.PhaseWait), true, true, Outcome{Phase: pool.PhaseWait, Earlier: true}},
	} {
		tr := &Transport{Base: &http.Transport{}}
		req, e := tr.track(newRequest(t, "POST", strings.NewReader("body")), false)
		if tt.got {
			httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{Conn: c})
		}
		if tt.used {
			io.WriteString(c, "x")
		}
		tt.want.Method = "POST"
		if o := observe(req, nil, tt.err, e.trail()); o != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, o, tt.want)
		}
	}
}

// TestA9_NoEvidenceNoCost: where there is nothing to be had, nothing is asked for.
func TestA9_NoEvidenceNoCost(t *testing.T) {
	req := newRequest(t, "POST", strings.NewReader("body"))
	req.URL.Scheme = "http"
	if sent, n := (&Transport{Base: noop{}}).track(req, false); sent != req || n != nil {
		t.Error("another transport's connections are followed")
	}
	uncounted, other := net.Pipe()
	defer uncounted.Close()
	defer other.Close()
	get := func(tr *Transport, c net.Conn) (tracked bool) {
		sent, n := tr.track(req, false)
		if n != nil {
			httptrace.ContextClientTrace(sent.Context()).GotConn(httptrace.GotConnInfo{Conn: c})
		}
		return n != nil
	}
	plain, mixed := &Transport{Base: &http.Transport{}}, &Transport{Base: &http.Transport{}}
	get(mixed, countedConn(t))
	for i := range 3 * patience {
		if got := get(plain, uncounted); got != (i < patience) {
			t.Errorf("connection %d without a count: it is followed: %v", i, got)
		}
		if !get(mixed, uncounted) {
			t.Fatal("one counted connection doesn't last")
		}
	}
	overH2 := &http.Transport{Protocols: new(http.Protocols)}
	overH2.Protocols.SetUnencryptedHTTP2(true)
	plainH2 := &Transport{Base: overH2}
	plainH2.uncounted.Store(patience)
	for _, tt := range []struct {
		tr             *Transport
		scheme, method string
		want           bool // net/http may send it again, and nobody would know
	}{
		{plain, "http", "POST", false}, {plain, "https", "POST", true}, {plain, "https", "GET", false}, {plain, "foo", "POST", false},
		{plainH2, "http", "POST", true}, {plainH2, "http", "GET", false},
	} {
		req := newRequest(t, tt.method, nil)
		req.URL.Scheme = tt.scheme
		if _, n := tt.tr.track(req, false); (n != nil) != tt.want {
			t.Errorf("%s %s: followed %v", tt.method, tt.scheme, n != nil)
		}
	}
}

// BenchmarkTrack is what evidence costs a call over a stock transport.
func BenchmarkTrack(b *testing.B) {
	tr := &Transport{Base: &http.Transport{}}
	req := newRequest(b, "POST", strings.NewReader("body"))
	b.ReportAllocs()
	for b.Loop() {
		tr.track(req, false)
	}
}
