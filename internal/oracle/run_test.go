package oracle

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A size is how much load there is. For each peer there are 16 workers, of which some wait:
// net/http waits for a second and more before it sends again over HTTP/2.
type size struct{ requests, peers int }

const workersPerPeer = 16

// A run is one client's load over one protocol, against peers of its own.
type run struct {
	client maker
	proto  proto
	seed   uint64
	notes  *notes
	calls  []*call // by id, from 1
	took   time.Duration
}

// perform sends requests, and returns when the peers have ended.
func perform(t *testing.T, c maker, p proto, seed uint64, n size) *run {
	t.Helper()
	r := &run{client: c, proto: p, seed: seed, notes: newNotes(n.requests), calls: make([]*call, n.requests+1)}
	begin := time.Now()
	urls := make([]string, n.peers)
	var servers []*port
	for i := range urls {
		s := startPort(t, p, r.notes, seed+uint64(i))
		servers = append(servers, s)
		urls[i] = p.scheme() + s.addr + "/"
	}
	watching, stop1 := c.start(t, p.base(true))
	plain, stop2 := c.start(t, p.base(false))
	r.send(urls, [2]client{watching, plain})
	stop1()
	stop2()
	for _, s := range servers {
		s.close()
	}
	r.took = time.Since(begin)
	return r
}

func (p proto) scheme() string {
	if p.tls {
		return "https://"
	}
	return "http://"
}

// send sends all requests, over both transports by turns, and waits.
func (r *run) send(urls []string, over [2]client) {
	var wg sync.WaitGroup
	var last atomic.Int64
	for w := range workersPerPeer * len(urls) {
		cl := over[w%2]
		wg.Go(func() {
			for id := int(last.Add(1)); id < len(r.calls); id = int(last.Add(1)) {
				c, req, cancel := newCall(r.seed, id, urls[id%len(urls)])
				c.make(&http.Client{Transport: cl.of(c)}, req)
				cancel()
				r.calls[id] = c
			}
		})
	}
	wg.Wait()
}

func (c client) of(call *call) http.RoundTripper {
	if call.traced {
		return c.traced
	}
	return c.plain
}

// make makes the call, and notes what came of it.
func (c *call) make(by *http.Client, req *http.Request) {
	resp, err := by.Do(req)
	if err != nil {
		c.err, c.late = err, c.left() <= 0
		return
	}
	defer resp.Body.Close()
	c.begun = true
	if rand.IntN(50) == 0 && resp.StatusCode == http.StatusOK { // one who doesn't care
		c.status = resp.StatusCode
		return
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.err = err
		return
	}
	c.status = resp.StatusCode
	if c.status != http.StatusOK {
		return
	}
	id := strconv.Itoa(c.id)
	c.wrong = resp.Header.Get(headerID) != id || c.method != http.MethodHead && string(b) != answerText(id)
}
