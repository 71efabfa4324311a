package pool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/health"
)

// A readyConn is a connection in memory whose peer has its answer ready, so that a crawl of many
// hosts needs no goroutine for each.
type readyConn struct {
	stillConn
	answer string
	unread []byte
}

func (c *readyConn) Write(p []byte) (int, error) {
	if bytes.HasSuffix(p, []byte("\r\n\r\n")) {
		c.unread = append(c.unread, c.answer...)
	}
	return len(p), nil
}

func (c *readyConn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

func (c *readyConn) Look() (health.Verdict, error) {
	if len(c.unread) > 0 {
		return health.Dead, health.ErrSurplus
	}
	return health.Alive, nil
}

var errNoHost = errors.New("no such host")

// dialCrawled: of three hosts one keeps connections, one closes them, and one can't be reached.
func dialCrawled(_ context.Context, _, addr string) (net.Conn, error) {
	switch addr[len(addr)-len("0:80")] % 3 {
	case 0:
		return &readyConn{answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, nil
	case 1:
		return &readyConn{answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"}, nil
	}
	return nil, errNoHost
}

// crawl makes a request to each of n hosts, in some lanes.
func crawl(tb testing.TB, tr *Transport, name string, n int) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				req, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s%d/", name, i), nil)
				resp, err := tr.RoundTrip(req)
				if errors.Is(err, errNoHost) {
					continue
				}
				if err != nil {
					tb.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
}

// crawledHosts is how many hosts are crawled: n, or what CONNWISE_CRAWL says (a million, say).
func crawledHosts(tb testing.TB, n int) int {
	s := os.Getenv("CONNWISE_CRAWL")
	if s == "" {
		return n
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// A crawler's many hosts don't stay in memory: what is left is what the idle connections need, and
// some hosts for their counters. (In a bubble the runtime would keep stopped timers.)
func TestCrawlerLeavesLittle(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name       string
		maxIdle, n int
	}{{"bound", 256, 10_000}, {"no bound", 0, 5000}} {
		t.Run(tt.name, func(t *testing.T) {
			n := crawledHosts(t, tt.n)
			tr := newCrawler(t, tt.maxIdle)
			crawl(t, tr, "first", 2*manyHosts) // what isn't kept for ever is there already
			tr.CloseIdleConnections()
			before := memory()
			crawl(t, tr, "host", n)
			if hosts := len(tr.allHosts()); tt.maxIdle > 0 && hosts > tt.maxIdle+manyHosts+secondChances {
				t.Errorf("%d hosts are remembered", hosts)
			}
			tr.CloseIdleConnections()
			after, hosts := memory(), len(tr.allHosts())
			grown := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / mib
			t.Logf("after %d hosts: %d are remembered, %.2f MiB more than before", n, hosts, grown)
			if hosts > manyHosts+secondChances || grown > 3 {
				t.Errorf("after %d hosts %d are remembered, and there are %.2f MiB more than before", n, hosts, grown)
			}
			wantAllCounted(t, tr, 2*manyHosts+n, n/100) // a dial that takes a second on a busy machine has a second one beside it
		})
	}
}

func newCrawler(tb testing.TB, maxIdle int) *Transport {
	tr, err := New(Config{Base: &http.Transport{DialContext: dialCrawled, MaxIdleConns: maxIdle}, ProxyIdleTimeout: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tr.Close() })
	return tr
}

// wantAllCounted wants n dials, and slack more at most.
func wantAllCounted(t *testing.T, tr *Transport, n, slack int) {
	t.Helper()
	tot := tr.Stats().Total
	if tot.Opened != tot.Closed || tot.Dials < uint64(n) || tot.Dials > uint64(n+slack) || tot.Opened+tot.DialsFailed != tot.Dials {
		t.Errorf("the total lost something: %d dials, %d failed, %d opened, %d closed", tot.Dials, tot.DialsFailed, tot.Opened, tot.Closed)
	}
}

// When the idle connections' time is over only some hosts are remembered, and later none.
func TestCrawledHostsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2 * manyHosts
		tr := newCrawler(t, 0)
		crawl(t, tr, "host", n)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if hosts := len(tr.allHosts()); hosts != manyHosts {
			t.Errorf("%d hosts without connections are remembered, want %d", hosts, manyHosts)
		}
		wantAllCounted(t, tr, n, 0)
		time.Sleep(2 * forgetAfter)
		synctest.Wait()
		if hosts, aliases := len(tr.allHosts()), tr.aliases.n; hosts+aliases+len(tr.unused)+len(tr.idlers.hosts) > 0 {
			t.Errorf("%d hosts, %d aliases, %d unused and %d idle ones are remembered", hosts, aliases, len(tr.unused), len(tr.idlers.hosts))
		}
		wantAllCounted(t, tr, n, 0)
	})
}

// A host that is used again and again isn't forgotten for those that are used once.
func TestCrawlerLeavesHostsInUse(t *testing.T) {
	tr := newCrawler(t, 256)
	for range 5 {
		crawl(t, tr, "again", 2) // its connections are closed, so that it is unused each time
		crawl(t, tr, "host", manyHosts/2)
	}
	h := hostNamed(t, tr, "again1")
	if tot := h.stats(); tot.Sent != 5 {
		t.Errorf("the host remembers %d requests, want 5", tot.Sent)
	}
}
