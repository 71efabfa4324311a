//go:build proxies && unix

package realproxy

import (
	"crypto/x509"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/peer"
)

const (
	relayDelay = 5 * time.Millisecond

	// The proxy's idle timeout: short where it matters, else so long that no idle
	// connection is closed, however busy this machine is.
	shortIdle = time.Second
	longIdle  = time.Minute

	// keepRequests is how many requests a proxy takes on a connection, where that has a limit.
	keepRequests = 20
)

// A variant is one kind of way from the clients to the origin.
type variant struct {
	kind  frontproxy.Kind
	proto frontproxy.Proto
	delay time.Duration // each way; zero: no relay
}

func (v variant) String() string {
	s := v.kind.Name + "/" + string(v.proto)
	if v.delay > 0 {
		s += "/relay"
	}
	return s
}

// overHTTP1 are all ways of HTTP/1.1 through the given kinds of proxy.
func overHTTP1(kinds ...frontproxy.Kind) []variant {
	return variants(kinds, frontproxy.H1, frontproxy.TLS)
}

// overHTTP2 are all ways of HTTP/2 through them.
func overHTTP2(kinds ...frontproxy.Kind) []variant { return variants(kinds, frontproxy.H2) }

func variants(kinds []frontproxy.Kind, protos ...frontproxy.Proto) []variant {
	var vs []variant
	for _, k := range kinds {
		for _, p := range protos {
			for _, delay := range []time.Duration{0, relayDelay} {
				vs = append(vs, variant{k, p, delay})
			}
		}
	}
	return vs
}

// delayed are those of the ways that go through a relay: only there a POST is sure to lose
// the idle race.
func delayed(lists ...[]variant) []variant {
	return slices.DeleteFunc(slices.Concat(lists...), func(v variant) bool { return v.delay == 0 })
}

// mostHTTP1 are the ways of HTTP/1.1 through all kinds, but for some without a relay.
func mostHTTP1() []variant {
	return append(overHTTP1(http1Kinds[:2]...), delayed(overHTTP1(http1Kinds[2:]...))...)
}

// direct are those without a relay.
func direct(lists ...[]variant) []variant {
	return slices.DeleteFunc(slices.Concat(lists...), func(v variant) bool { return v.delay > 0 })
}

// eachVariant runs test on the given ways, as many at a time as go test's -parallel says.
func eachVariant(t *testing.T, test func(*testing.T, variant), lists ...[]variant) {
	for _, vs := range lists {
		for _, v := range vs {
			t.Run(v.String(), func(t *testing.T) {
				t.Parallel()
				test(t, v)
			})
		}
	}
}

// An origin executes requests and counts how often each was executed. The count is final
// after Close.
type origin interface {
	Addr() string
	Close()
	Report() peer.Report
}

// A front is what clients connect to.
type front interface {
	Reload() error
	Stop()
}

// A rig is an origin, a proxy in front of it, and maybe a relay in front of that. It ends
// with the test.
type rig struct {
	variant
	origin origin
	idle   time.Duration // the front's idle timeout
	front  front
	proxy  *frontproxy.Proxy // the front, if it is a proxy
	roots  *x509.CertPool    // that clients have to trust; nil without TLS
	url    string
	ids    atomic.Uint64 // the last id given to a request
}

// newRig makes a rig whose proxy closes idle connections.
func newRig(t *testing.T, v variant, idle time.Duration) *rig {
	t.Helper()
	return newRigOf(t, v, frontproxy.Settings{Idle: idle}, startOrigin(t))
}

func newRigOf(t *testing.T, v variant, s frontproxy.Settings, o origin) *rig {
	t.Helper()
	r := &rig{variant: v, origin: o, idle: s.Idle}
	s.Origin, s.Proto = o.Addr(), v.proto
	r.proxy = startProxy(t, v.kind, s)
	r.front, r.roots = r.proxy, r.proxy.Roots()
	r.url = v.url(t, r.proxy.Addr())
	return r
}

// url is where clients find what listens at addr: there, or at a relay to it.
func (v variant) url(t *testing.T, addr string) string {
	t.Helper()
	if v.delay > 0 {
		addr = startRelay(t, addr, v.delay).Addr()
	}
	if v.proto == frontproxy.H1 {
		return "http://" + addr + "/"
	}
	return "https://" + addr + "/"
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

// executions ends the front and the origin and returns the final count: nothing is
// executed later.
func (r *rig) executions() peer.Executions {
	r.front.Stop()
	r.origin.Close()
	return r.origin.Report().Executed
}
