package scenario

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// A setback is why no connection comes about, after a while. It fills in cfg; tell says
// whether an error names it.
type setback struct {
	name  string
	in    func(speech) bool
	cause func(r *rig, s *site, cfg *pool.Config)
	stage dialer.Stage
	tell  func(error) bool
}

const setbackTime = 60 * time.Millisecond

var errNoRoute = errors.New("no route to the backend")

var setbacks = []setback{
	{"a hook's error", anywhere, func(_ *rig, _ *site, cfg *pool.Config) {
		cfg.Base.DialContext = (&dialHook{takes: setbackTime, fails: errNoRoute}).dial
	}, dialer.StageConnect, func(err error) bool { return errors.Is(err, errNoRoute) }},
	{"a refused connection", anywhere, func(r *rig, _ *site, cfg *pool.Config) {
		cfg.Base.DialContext = (&dialHook{takes: setbackTime, to: r.closedPort()}).dial
	}, dialer.StageConnect, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
	{"a resolver's error", anywhere, func(_ *rig, _ *site, cfg *pool.Config) {
		cfg.Dialer = &dialer.Dialer{Resolver: noName{}}
	}, dialer.StageResolve, func(err error) bool { d, ok := errors.AsType[*net.DNSError](err); return ok && d.IsNotFound }},
	{"a stranger's certificate", overTLS, func(_ *rig, s *site, cfg *pool.Config) {
		cfg.Base.DialContext = (&dialHook{takes: setbackTime, to: s.addr}).dial
		cfg.Base.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		cfg.Base.ForceAttemptHTTP2 = true
	}, dialer.StageTLS, func(err error) bool { _, ok := errors.AsType[*tls.CertificateVerificationError](err); return ok }},
	{"a proxy's refusal", overTLS, func(r *rig, _ *site, cfg *pool.Config) {
		cfg.Base.Proxy = through("http", r.peerIn(plain, func(c *peerConn) {
			if _, err := http.ReadRequest(c.br); err == nil && c.peer.stays(setbackTime) {
				c.say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
				c.drain()
			}
		}), nil).Base.Proxy
	}, dialer.StageProxy, func(err error) bool {
		p, ok := errors.AsType[*dialer.ProxyError](err)
		return ok && p.Status == http.StatusServiceUnavailable
	}},
	{"a SOCKS5 proxy's refusal", anywhere, func(r *rig, _ *site, cfg *pool.Config) {
		cfg.Base.Proxy = through("socks5", r.peerIn(plain, func(c *peerConn) {
			if c.peer.stays(setbackTime) {
				refuseSOCKS(c, 5)
			}
		}), nil).Base.Proxy
	}, dialer.StageProxy, func(err error) bool { s, ok := errors.AsType[*dialer.SOCKSError](err); return ok && s.Reply == 5 }},
}

type noName struct{}

func (noName) LookupHost(ctx context.Context, host string) ([]string, error) {
	select {
	case <-time.After(setbackTime):
	case <-ctx.Done():
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// closedPort is an address at which connections are refused.
func (r *rig) closedPort() string {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// Many wait when dials fail: each is told why at once, and nobody dials for each of them
// again. What comes later has a dial of its own.
func TestAFailedDialIsToldToAllWhoWaitForIt(t *testing.T) {
	var cases []func()
	for _, sp := range speeches {
		for _, sb := range setbacks {
			if sb.in(sp) {
				cases = append(cases, func() { t.Run(sp.name+"/"+sb.name, func(t *testing.T) { setBack(t, sp, sb) }) })
			}
		}
	}
	side(t, cases)
}

func setBack(t *testing.T, sp speech, sb setback) {
	const waiters = 50
	r := newPart(t, sp.mode)
	s := r.site(sp, manners{})
	cfg := pool.Config{Base: &http.Transport{}}
	sb.cause(r, s, &cfg)
	tr := r.client(sp, cfg)
	url := map[bool]string{false: "http", true: "https"}[sp.tls] + "://origin.test:81/"
	for round := range 2 {
		var told atomic.Int64
		before := tr.Stats().Total.Dials
		together(waiters, func(i int) {
			c := newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)])
			err := []front{bare, client}[i%2].over(tr).send(c)
			untouched(t, label("round", round), c)
			e := poolError(t, err)
			d, ok := errors.AsType[*dialer.Error](err)
			if e.Phase != pool.PhaseDial || !ok || d.Stage != sb.stage || !sb.tell(err) || e.Timeout() || e.BodyTouched {
				t.Errorf("round %d: %v", round, err)
			}
			told.Add(1)
		})
		// The window's dials, and one more in the place of the first of them that fails: and on a
		// busy machine some callers come late.
		if n := tr.Stats().Total.Dials - before; n > mostDials+8 || n == 0 {
			t.Errorf("round %d: %d dials for %d waiters", round, n, waiters)
		}
		if g := gauges(tr); g != (counts{}) {
			t.Errorf("round %d: %+v", round, g)
		}
	}
	if n := s.conns(); n > 0 && sb.stage != dialer.StageTLS {
		t.Errorf("%d connections", n)
	}
}
