package scenario

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

const (
	slowHandshake = 300 * time.Millisecond
	shortTime     = 60 * time.Millisecond // what callers have
)

// slowWays are ways on which it takes slowHandshake until a request can be sent, each at
// another place.
var slowWays = []way{
	{"slow hook", anywhere, func(_ *rig, s *site, cfg *pool.Config) string {
		cfg.Base.DialContext = (&dialHook{takes: slowHandshake}).dial
		return s.url
	}},
	{"slow handshake", overTLS, hooked(func(r *rig, s *site) hook { return hookTo(r.lagging(s.addr)) })},
	{"slow CONNECT", overTLS, func(r *rig, s *site, cfg *pool.Config) string {
		cfg.Base.Proxy = through("http", r.peerIn(plain, func(c *peerConn) {
			if req, err := http.ReadRequest(c.br); err != nil || req.Method != http.MethodConnect || !c.peer.stays(slowHandshake) {
				return
			}
			c.say("HTTP/1.1 200 OK\r\n\r\n")
			(&relay{to: s.addr, flows: make(map[*flow]struct{})}).join(c.Conn, c.br)
		}), nil).Base.Proxy
		return s.url
	}},
	{"slow handshake behind CONNECT", overTLS, func(r *rig, s *site, cfg *pool.Config) string {
		cfg.Base.Proxy = through("http", r.tunnel(plain, r.lagging(s.addr)), nil).Base.Proxy
		return s.url
	}},
	{"slow SOCKS5", anywhere, func(r *rig, s *site, cfg *pool.Config) string {
		cfg.Base.Proxy = through("socks5h", r.socks(s.addr, slowHandshake), nil).Base.Proxy
		return s.url
	}},
	{"slow TLS proxy", overTLS, func(r *rig, s *site, cfg *pool.Config) string {
		p := r.tunnel(overT, s.addr)
		cfg.Base.Proxy = through("https", &rawPeer{addr: r.lagging(p.addr)}, nil).Base.Proxy
		return s.url
	}},
}

// lagging starts a relay that passes nothing on at first, and returns its address.
func (r *rig) lagging(to string) string {
	l := &relay{to: to, flows: make(map[*flow]struct{})}
	return r.peerIn(plain, func(c *peerConn) {
		if c.peer.stays(slowHandshake) {
			l.join(c.Conn, c.br)
		}
	}).addr
}

// Callers have less time than a handshake takes. It takes its time once or twice, and then
// they succeed: the dials that they leave serve those who come later. So it is for callers
// who come one after the other, with gaps between them, as for many at a time.
func TestAHandshakeThatOutlastsItsCallersIsNotInVain(t *testing.T) {
	const enough = 3 * time.Second
	for _, crowd := range []int{1, 4} {
		t.Run(label(crowd, "at a time"), func(t *testing.T) {
			waysAtOnce(t, slowWays, func(t *testing.T, r *rig, sp speech, w way) {
				s := r.site(sp, manners{})
				tr, url := r.by(w, s, pool.Config{})
				failed, begun := 0, time.Now()
				for served := false; !served; {
					results := make(chan error, crowd)
					together(crowd, func(i int) { results <- inShortTime(t, tr, url, bodyKinds[i%len(bodyKinds)]) })
					for range crowd {
						if err := <-results; err == nil {
							served = true
						} else {
							failed++
						}
					}
					if took := time.Since(begun); !served && took > enough {
						t.Fatalf("after %v, %d calls and %d dials, of which %d succeeded, no call has", took, failed, tr.Stats().Total.Dials, tr.Stats().Total.Opened)
					}
					pause(2 * shortTime) // longer than a proxy is let wait for nobody
				}
				if failed == 0 || time.Since(begun) < slowHandshake {
					t.Errorf("%d calls failed, the first succeeded after %v: nothing was tested", failed, time.Since(begun))
				}
				// From now on there is a connection, and nobody waits for another one.
				dials := tr.Stats().Total.Dials
				for i := range 10 {
					doer(tr.RoundTrip).must(t, newPatient(t, http.MethodPost, url, bodyKinds[i%len(bodyKinds)]))
				}
				if n := tr.Stats().Total.Dials; crowd == 1 && (n != dials || dials > 8) {
					t.Errorf("%d dials until there was a connection, %d more then", dials, n-dials)
				}
			})
		})
	}
}

// inShortTime sends a request whose time is short, and checks what is said if it was too short.
func inShortTime(t *testing.T, tr *pool.Transport, url string, kind bodyKind) error {
	ctx, cancel := context.WithTimeout(t.Context(), shortTime)
	defer cancel()
	c := newCall(ctx, http.MethodPost, url, kind)
	err := doer(tr.RoundTrip).send(c)
	if err == nil {
		return nil
	}
	if e := poolError(t, err); !errors.Is(err, context.DeadlineExceeded) || !e.Timeout() {
		t.Errorf("%s: %v", kind, err)
	} else if e.Phase.Unprocessed() {
		untouched(t, string(kind), c)
	}
	return err
}
