package scenario

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"

	"golang.org/x/net/http2"
)

// atOnce runs test for each speech, all at the same time: a test that mostly waits takes
// the time of one. Goroutines and descriptors are counted when all are through.
func atOnce(t *testing.T, test func(*testing.T, *rig, speech)) {
	t.Helper()
	var cases []func()
	for _, sp := range speeches {
		cases = append(cases, func() {
			t.Run(sp.name, func(t *testing.T) { test(t, newPart(t, sp.mode), sp) })
		})
	}
	side(t, cases)
}

// waysAtOnce does the same for each way to each kind of site.
func waysAtOnce(t *testing.T, ways []way, test func(*testing.T, *rig, speech, way)) {
	t.Helper()
	var cases []func()
	for _, sp := range speeches {
		for _, w := range ways {
			if !w.in(sp) {
				continue
			}
			cases = append(cases, func() {
				t.Run(sp.name+"/"+w.name, func(t *testing.T) { test(t, newPart(t, sp.mode), sp, w) })
			})
		}
	}
	side(t, cases)
}

// side runs cases, which have parts of rigs, side by side.
func side(t *testing.T, cases []func()) {
	t.Helper()
	newRig(t, plain)
	together(len(cases), func(i int) { cases[i]() })
}

// newPart makes a rig that leaves it to another one, which outlives it, to look for
// goroutines and descriptors.
func newPart(t *testing.T, m mode) *rig {
	r := &rig{t: t, mode: m}
	t.Cleanup(r.end)
	return r
}

// throughProxies are the ways with a proxy, and the direct one.
var throughProxies = []way{
	ways[0],
	{"tunnel", overTLS, proxied("http", plain)},
	{"tunnel over TLS", overTLS, proxied("https", overT)},
	{"SOCKS5", anywhere, func(r *rig, s *site, cfg *pool.Config) string {
		cfg.Base.Proxy = through("socks5", r.socks(s.addr, nil), nil).Base.Proxy
		return s.url
	}},
	ways[len(ways)-1], // forward proxy
}

// socks starts a SOCKS5 proxy whose connections all lead to one peer, behind a stile if it
// isn't nil.
func (r *rig) socks(to string, g *stile) *rawPeer {
	r.t.Helper()
	l := &relay{to: to, flows: make(map[*flow]struct{})}
	return r.peerIn(plain, func(c *peerConn) {
		if socksRequest(c.br, c) != nil || g != nil && !c.hold(g) {
			return
		}
		io.WriteString(c, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
		l.join(c.Conn, c.br)
	})
}

// stays waits for d; false: the test is over.
func (p *rawPeer) stays(d time.Duration) bool {
	if d == 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-p.over:
		return false
	}
}

// A parked is a request that has come whole, and waits for its answer.
type parked struct {
	id     string
	conn   int // its connection's number
	answer func() error
}

// A depot is a site that keeps each request until its test lets it go. Over HTTP/2 each of
// its connections takes one stream at a time.
type depot struct {
	*site
	asks chan parked
}

func (r *rig) depot(sp speech) *depot {
	r.t.Helper()
	d := &depot{&site{speech: sp}, make(chan parked, 4096)}
	if sp.h2 {
		d.p2 = r.h2peer(peer.H2Options{Handler: d.parkH2})
		d.url, d.addr = d.p2.url, d.p2.Addr()
	} else {
		d.h1 = r.peer(d.parkH1)
		d.url, d.addr = d.h1.url, d.h1.addr
	}
	return d
}

func (d *depot) parkH1(c *peerConn) {
	for q, err := c.request(); err == nil; q, err = c.request() {
		d.asks <- parked{q.id, c.num, func() error { return c.answer(q) }}
	}
}

func (d *depot) parkH2(c *peer.H2Conn) {
	if c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) != nil {
		return
	}
	for q, err := c.Request(); err == nil; q, err = c.Request() {
		d.asks <- parked{q.Field(strings.ToLower(idHeader)), c.Num, func() error { return c.Answer(q) }}
	}
}

// next waits for a request.
func (d *depot) next(t *testing.T) parked {
	t.Helper()
	select {
	case q := <-d.asks:
		return q
	case <-time.After(patience):
		t.Fatal("no request has come")
		return parked{}
	}
}

// letGo answers requests.
func letGo(t *testing.T, qs ...parked) {
	t.Helper()
	for _, q := range qs {
		if err := q.answer(); err != nil {
			t.Errorf("answering request %s on connection %d: %v", q.id, q.conn, err)
		}
	}
}

// occupy has n requests parked.
func (d *depot) occupy(t *testing.T, do doer, url string, n int) (calls []<-chan error, held []parked) {
	t.Helper()
	for i := range n {
		calls = append(calls, do.start(newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)])))
	}
	for range n {
		held = append(held, d.next(t))
	}
	return calls, held
}

// wantWaiting waits until so many requests wait for a connection.
func wantWaiting(t *testing.T, tr *pool.Transport, n int) {
	t.Helper()
	if !within(patience, func() bool { return gauges(tr).Waiting == n }) {
		t.Fatalf("%+v, want %d waiting", gauges(tr), n)
	}
}

// untouched checks that nothing was read of a failed call's body, and that it was closed.
func untouched(t *testing.T, what string, c *call) {
	t.Helper()
	if c.body != nil && c.body.reads.Load() != 0 {
		t.Errorf("%s: the body was read %d times", what, c.body.reads.Load())
	}
	if err := c.body.misuse(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// soon bounds the time that something may take which is to happen at once, on a machine
// that has other things to do.
const soon = time.Second
