package scenario

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// A way is how a client comes to a site. It fills in cfg, and returns the URL to use.
type way struct {
	name string
	in   func(speech) bool
	take func(r *rig, s *site, cfg *pool.Config) string
}

func anywhere(speech) bool     { return true }
func overTLS(sp speech) bool   { return sp.tls }
func forwarded(sp speech) bool { return !sp.tls && !sp.h2 }

// A hook is a DialContext.
type hook = func(ctx context.Context, network, addr string) (net.Conn, error)

// hookTo is a hook that leads everywhere to one address.
func hookTo(at string) hook {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, at)
	}
}

// hooked is the way by a dial hook of the caller's.
func hooked(h func(r *rig, s *site) hook) func(*rig, *site, *pool.Config) string {
	return func(r *rig, s *site, cfg *pool.Config) string {
		cfg.Base.DialContext = h(r, s)
		return s.url
	}
}

// proxied is the way by an HTTP proxy with CONNECT, spoken to in mode m.
func proxied(scheme string, m mode) func(*rig, *site, *pool.Config) string {
	return func(r *rig, s *site, cfg *pool.Config) string {
		cfg.Base.Proxy = through(scheme, r.tunnel(m, s.addr), nil).Base.Proxy
		return s.url
	}
}

var ways = []way{
	{"direct", anywhere, func(_ *rig, s *site, _ *pool.Config) string { return s.url }},
	{"hook", anywhere, hooked(func(*rig, *site) hook { return new(net.Dialer).DialContext })},
	{"hook with the dialer", anywhere, hooked(func(*rig, *site) hook { return new(dialer.Dialer).DialContext })},
	// Nobody can look at what is under a type of the caller's.
	{"hook that wraps", anywhere, hooked(func(*rig, *site) hook {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return struct{ net.Conn }{c}, err
		}
	})},
	{"Unix socket", anywhere, hooked(func(r *rig, s *site) hook {
		at := r.unixRelay(s.addr).addr
		return func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", at)
		}
	})},
	{"hook with TLS", overTLS, func(_ *rig, s *site, cfg *pool.Config) string {
		conf := clientTLS("127.0.0.1")
		if s.h2 {
			conf.NextProtos = []string{"h2"}
		}
		cfg.Base.DialTLSContext = (&tls.Dialer{Config: conf}).DialContext
		return s.url
	}},
	{"tunnel", overTLS, proxied("http", plain)},
	{"tunnel over TLS", overTLS, proxied("https", overT)},
	{"forward proxy", forwarded, func(_ *rig, s *site, cfg *pool.Config) string {
		cfg.Base.Proxy = through("http", s.h1, nil).Base.Proxy
		return "http://origin.test/"
	}},
}

// eachWay runs test on each way to each kind of site. The transport's Base is made.
func eachWay(t *testing.T, test func(*testing.T, *rig, speech, way)) {
	t.Helper()
	for _, sp := range speeches {
		for _, w := range ways {
			if w.in(sp) {
				t.Run(sp.name+"/"+w.name, func(t *testing.T) { test(t, newRig(t, sp.mode), sp, w) })
			}
		}
	}
}

// by makes a transport that takes the way to s, and the URL for it.
func (r *rig) by(w way, s *site, cfg pool.Config) (*pool.Transport, string) {
	r.t.Helper()
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	url := w.take(r, s, &cfg)
	return r.client(s.speech, cfg), url
}

// However a client comes to its server: what was closed while idle is found before a byte
// is written, whatever the method and the body.
func TestNoWayHidesThatAnIdleConnectionWasClosed(t *testing.T) {
	long(t)
	eachWay(t, func(t *testing.T, r *rig, sp speech, w way) {
		for _, f := range farewells {
			if f.in(sp) {
				t.Run(f.name, func(t *testing.T) { closedOnTheWay(t, newRig(t, sp.mode), sp, w, f) })
			}
		}
	})
}

func closedOnTheWay(t *testing.T, r *rig, sp speech, w way, f farewell) {
	s := r.site(sp, manners{})
	tr, url := r.by(w, s, pool.Config{})
	const rounds = 2
	for i := range rounds {
		do := []front{bare, retrying}[i].over(tr)
		do.must(t, newPatient(t, http.MethodPost, url, []bodyKind{oneShot, replayable}[i]))
		s.part(f)
		f.wantGone(t, tr)
	}
	s.once(t, rounds)
	total := tr.Stats().Total
	if s.conns() != rounds || total.Failed > 0 {
		t.Errorf("%d connections for %d rounds, %d requests failed", s.conns(), rounds, total.Failed)
	}
	// What the server's HTTP/2 end has not read when it closes makes a RST of its FIN.
	if cause := f.causeOver(sp); w.name == "direct" && !(sp.h2 && cause == "fin") {
		if total.IdleCloses[cause] == 0 || len(total.IdleCloses) > 1 {
			t.Errorf("closed: %v, want them by %s", total.IdleCloses, cause)
		}
	}
}
