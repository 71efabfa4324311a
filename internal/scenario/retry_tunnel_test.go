package scenario

import (
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// Through a proxy the same holds as without: what is lost behind a tunnel has no proof, and
// what a tunnel needs before the first byte of a request has one.

// tunnelled is a Config for the proxy at p.
func tunnelled(scheme string, p *rawPeer) pool.Config {
	return pool.Config{Base: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: p.addr})}}
}

// eachTunnel runs test for proxies that are spoken to in the clear and over TLS.
func eachTunnel(t *testing.T, test func(t *testing.T, r *rig, scheme string, m mode)) {
	t.Helper()
	for _, px := range httpProxies {
		t.Run(px.scheme, func(t *testing.T) { test(t, newRig(t, overT), px.scheme, px.mode) })
	}
}

func TestAfterACrossingInATunnelOnlySafeMethodsAreSentAgain(t *testing.T) {
	eachTunnel(t, func(t *testing.T, r *rig, scheme string, m mode) {
		for _, l := range leaves {
			for i, method := range methods {
				name := topNames[i%len(topNames)]
				p := r.peer(crosses(l))
				px := r.tunnel(m, p.addr)
				do := tops[name](&retry.Transport{Base: r.pool(tunnelled(scheme, px)), Policy: quick(retry.Default())})
				do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				c, rep := reported(newCall(t.Context(), method, p.url, noBody))
				err := sendAny(do, c)
				want := 0
				if repeatable[method] {
					want = 1
				} else {
					wantAmbiguous(t, err, true)
				}
				if (err == nil) != (want == 1) || p.count(c.id) != want || rep.Retries != want || px.conns() != 1+want {
					t.Errorf("%s, %s by %s: executed %d times, %d retries, %d tunnels: %v", l.name, method, name, p.count(c.id), rep.Retries, px.conns(), err)
				}
			}
		}
	})
}

// Chunked bodies, files and streams arrive whole behind a new tunnel, or not at all.
func TestASecondAttemptThroughATunnelHasTheSameBody(t *testing.T) {
	text := mibBody[:100<<10]
	eachTunnel(t, func(t *testing.T, r *rig, scheme string, m mode) {
		for _, k := range cargoes {
			for _, ran := range []bool{false, true} {
				var in inbox
				var tunnels atomic.Int64
				p := r.peer(func(c *peerConn) {
					if ran && c.num == 0 {
						c.whole()
						return
					}
					in.records(c)
				})
				px := r.peerIn(m, func(c *peerConn) {
					if tunnels.Add(1) == 1 && !ran {
						http.ReadRequest(c.br)
						leaveRST.by(c)
						return
					}
					pipe(c, http.StatusOK, "")
				})
				c, rep := reported(newUpload(t, t.Context(), http.MethodPost, p.url, k, text))
				c.Header.Set("Idempotency-Key", c.id)
				err := over(r.pool(tunnelled(scheme, px)), quick(retry.Default())).send(c)
				name := label(k.name, "ran:", ran)
				if ran && !k.replayable {
					wantAmbiguous(t, err, false)
					if len(in.all()) != 0 || rep.Retries != 0 {
						t.Errorf("%s: %d arrived again, %d retries", name, len(in.all()), rep.Retries)
					}
					continue
				}
				wantWhole(t, name, &in, c, text, err)
				if rep.Retries != 1 {
					t.Errorf("%s: %d retries", name, rep.Retries)
				}
			}
		}
	})
}

// A proxy that is down, hangs up or can't reach the origin now is asked again for any method; one
// that says no isn't.
func TestATunnelIsAskedForAgainUnlessTheProxySaysNo(t *testing.T) {
	errNo := func(status int) func(*peerConn) {
		return func(c *peerConn) {
			http.ReadRequest(c.br)
			c.say("HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n", status)
			c.drain()
		}
	}
	eachTunnel(t, func(t *testing.T, r *rig, scheme string, m mode) {
		for _, tt := range []struct {
			name  string
			fails func(*peerConn)
			again bool
		}{
			{"hangs up", func(c *peerConn) { http.ReadRequest(c.br) }, true},
			{"resets", func(c *peerConn) { http.ReadRequest(c.br); leaveRST.by(c) }, true},
			{"502", errNo(502), true}, {"503", errNo(503), true}, {"504", errNo(504), true},
			{"403", errNo(403), false}, {"407", errNo(407), false}, {"429", errNo(429), false},
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				origin := r.peer((*peerConn).serveWhole)
				px := r.peerIn(m, func(c *peerConn) {
					if c.num < 2 {
						tt.fails(c)
						return
					}
					pipe(c, http.StatusOK, "")
				})
				c, rep := reported(newUpload(t, t.Context(), method, origin.url, cargoOnce, "charge 10"))
				err := over(r.pool(tunnelled(scheme, px)), quick(retry.Default())).send(c)
				if tt.again {
					if err != nil || rep.Retries != 2 || origin.count(c.id) != 1 {
						t.Errorf("%s, %s: %d retries, executed %d times: %v", tt.name, method, rep.Retries, origin.count(c.id), err)
					}
					for _, a := range rep.Attempts[:min(2, len(rep.Attempts))] {
						if d, ok := errors.AsType[*dialer.Error](a.Err); !ok || d.Stage != dialer.StageProxy || a.Proof != retry.ProofNoConnection {
							t.Errorf("%s, %s: %+v", tt.name, method, a)
						}
					}
					continue
				}
				if wantProxyError(t, tt.name, err); rep.Retries != 0 || px.conns() != 1 || origin.conns() != 0 || c.body.reads.Load() != 0 {
					t.Errorf("%s, %s: %d retries, %d tunnels", tt.name, method, rep.Retries, px.conns())
				}
			}
		}
	})
}
