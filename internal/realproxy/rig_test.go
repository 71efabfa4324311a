//go:build proxies && unix

package realproxy

import (
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

const (
	relayDelay = 5 * time.Millisecond

	// The proxy's idle timeout: short where it matters, else so long that no idle
	// connection is closed, however busy this machine is.
	shortIdle = time.Second
	longIdle  = time.Minute
)

// A variant is one kind of way from the clients to the origin.
type variant struct {
	kind  kind
	tls   bool
	delay time.Duration // each way; zero: no relay
}

func (v variant) String() string {
	s := v.kind.name + "/h1"
	if v.tls {
		s = v.kind.name + "/tls"
	}
	if v.delay > 0 {
		s += "/relay"
	}
	return s
}

// variants are all ways through the given kinds of proxy.
func variants(kinds ...kind) []variant {
	var vs []variant
	for _, k := range kinds {
		for _, tls := range []bool{false, true} {
			for _, delay := range []time.Duration{0, relayDelay} {
				vs = append(vs, variant{k, tls, delay})
			}
		}
	}
	return vs
}

// eachVariant runs test on all ways through the given kinds of proxy, as many at a time
// as go test's -parallel says.
func eachVariant(t *testing.T, test func(*testing.T, variant), kinds ...kind) {
	for _, v := range variants(kinds...) {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// A rig is an origin, a proxy in front of it, and maybe a relay in front of that. It ends
// with the test.
type rig struct {
	variant
	origin *peer.Server
	proxy  *proxy
	pair   *keyPair // nil without TLS
	url    string
	ids    atomic.Uint64 // the last id given to a request
}

func newRig(t *testing.T, v variant, idle time.Duration) *rig {
	t.Helper()
	r := &rig{variant: v, origin: startOrigin(t)}
	if v.tls {
		pair := newKeyPair(t)
		r.pair = &pair
	}
	r.proxy = startProxy(t, v.kind, r.origin.Addr(), idle, r.pair)
	addr := r.proxy.addr
	if v.delay > 0 {
		addr = startRelay(t, addr, v.delay).addr()
	}
	r.url = "http://" + addr + "/"
	if v.tls {
		r.url = "https://" + addr + "/"
	}
	return r
}

// startOrigin starts a server that counts executions and takes a moment for each, so that
// a reload finds requests under way.
func startOrigin(t *testing.T) *peer.Server {
	t.Helper()
	s, err := peer.Start(nil, peer.Faults{Delay: time.Millisecond, BodySize: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// executions ends the proxy and the origin and returns the final count: nothing is
// executed later.
func (r *rig) executions() peer.Executions {
	r.proxy.proc.stop()
	r.origin.Close()
	return r.origin.Report().Executed
}
