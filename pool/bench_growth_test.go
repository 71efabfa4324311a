package pool

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/internal/peer"
)

// growthCallers are how many goroutines make the requests of BenchmarkIdle and BenchmarkHosts.
const growthCallers = 32

// BenchmarkIdle measures small GETs to one host, of which so many connections more than the
// callers use are idle, and BenchmarkHosts such to so many hosts in turn, with one connection
// each. What a request costs must not depend on that by more than what the kernel and the
// processor's caches take for as many sockets, which bench's floor shows. The peer is
// another process; cpu-ns/op is the processors' time of this one.
func BenchmarkIdle(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchGrowth(b, 1, n+growthCallers) })
	}
}

func BenchmarkHosts(b *testing.B) {
	for _, n := range []int{1, 100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchGrowth(b, n, n) })
	}
}

// loopback resolves every name.
type loopback struct{}

func (loopback) LookupHost(context.Context, string) ([]string, error) {
	return []string{"127.0.0.1"}, nil
}

func benchGrowth(b *testing.B, hosts, conns int) {
	r := newIdleRig(b, conns+growthCallers)
	s, err := r.child.Listen(false, peer.Faults{BodySize: 128})
	if err != nil {
		b.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.Addr())
	tr := newBench(b, Config{Base: &http.Transport{}, Dialer: &dialer.Dialer{Resolver: loopback{}}})
	reqs := make([]*http.Request, hosts)
	for i := range reqs {
		reqs[i], err = http.NewRequest("GET", fmt.Sprintf("http://h%d.test:%s/", i, port), nil)
		if err != nil {
			b.Fatal(err)
		}
	}
	openAll(b, tr, reqs, conns)

	var next atomic.Uint64
	lanes(b, growthCallers, func(int) func() error {
		req := reqs[0].Clone(b.Context())
		return func() error {
			to := reqs[next.Add(1)%uint64(len(reqs))]
			req.URL, req.Host = to.URL, to.Host
			return readAll(tr, req)
		}
	})
}

// openAll leaves n connections idle, spread evenly.
func openAll(tb testing.TB, rt http.RoundTripper, reqs []*http.Request, n int) {
	resps := make([]*http.Response, n)
	for i := range resps {
		resp, err := rt.RoundTrip(reqs[i%len(reqs)])
		if err != nil {
			tb.Fatal(err)
		}
		resps[i] = resp
	}
	for _, resp := range resps {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func readAll(rt http.RoundTripper, req *http.Request) error {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
