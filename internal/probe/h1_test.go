package probe

import (
	"crypto/tls"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// Each style in which a server can end an idle connection is told by its own words.
func TestIdleCloseIsMeasured(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tls   bool
		style peer.Style
		how   string
	}{
		{"fin", false, peer.FIN, "fin"},
		{"reset", false, peer.RST, "reset"},
		{"tls close_notify", true, peer.FIN, "close_notify, fin"},
		{"tls fin alone", true, peer.BareFIN, "fin"},
		{"tls reset", true, peer.RST, "reset"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scheme, proto := "http://", H1
			var a *peer.Authority
			if tt.tls {
				scheme, proto, a = "https://", H1S, newAuthority(t)
			}
			s := startPeer(t, a, peer.Faults{IdleTimeout: idle, Style: tt.style})
			o := quick(scheme + s.Addr() + "/")
			if a != nil {
				o.RootCAs = a.Roots()
			}
			rep := measured(t, hasty(t, o), 1)
			p := rep.Protocols[0]
			wantIdle(t, "idle", p.Idle, idle, tt.how)
			if p.Proto != proto || p.HTTP != "HTTP/1.1" || p.Status != 200 || (p.TLS == "TLS 1.3") != tt.tls {
				t.Errorf("protocol %+v", p)
			}
			if p.Idle.GoAway != "" || p.MaxStreams != nil {
				t.Errorf("HTTP/1.1 has something of HTTP/2: %+v", p)
			}
			if p.Unused.Ended != 0 || p.Unused.OpenFor < Millis(idle) {
				t.Errorf("unused connections: %+v; the server never ends them", p.Unused)
			}
			if p.Requests.Served != 30 || p.Requests.Limited || p.Requests.By != "all sent" {
				t.Errorf("requests %+v, want 30 without a limit", p.Requests)
			}
			if rep.Advice == nil || !rep.Advice.Measured {
				t.Errorf("advice %+v", rep.Advice)
			}
		})
	}
}

// The number of requests is that which the server answers on one connection, announced or not.
func TestRequestsOfAConnectionAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults peer.Faults
		by     string
	}{
		{"announced", peer.Faults{MaxRequests: 20, Announce: true}, "connection: close"},
		{"fin", peer.Faults{MaxRequests: 20}, "fin"},
		{"reset", peer.Faults{MaxRequests: 20, Style: peer.RST}, "reset"},
		{"one", peer.Faults{MaxRequests: 1, Announce: true}, "connection: close"},
		{"as many as are sent", peer.Faults{MaxRequests: 30, Announce: true}, "connection: close"},
		{"one more than are sent", peer.Faults{MaxRequests: 31, Announce: true}, "all sent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.faults.IdleTimeout = idle
			s := startPeer(t, nil, tt.faults)
			p := measured(t, hasty(t, quick("http://"+s.Addr()+"/")), 1).Protocols[0]
			want := Requests{Served: min(tt.faults.MaxRequests, 30), Limited: tt.by != "all sent", By: tt.by}
			if tt.by == "connection: close" {
				want.Ending = "fin"
			}
			if got := p.Requests; got.Served != want.Served || got.Limited != want.Limited || got.By != want.By || got.Ending != want.Ending {
				t.Errorf("requests %+v, want %+v", got, want)
			}
			if one := tt.faults.MaxRequests == 1; (p.Idle == nil) != one || one && len(p.Notes) == 0 {
				t.Errorf("idle %+v, notes %q", p.Idle, p.Notes)
			}
		})
	}
}

// What servers announce by a Keep-Alive field comes beside what they do.
func TestHintIsReported(t *testing.T) {
	url := script(t, nil, func(c *scripted, _ int) {
		for wait := time.Duration(0); ; wait = idle {
			req := c.next(wait)
			if req == nil {
				return
			}
			if req.Header.Get("Connection") != "keep-alive" {
				c.say(ok)
				continue
			}
			c.say("HTTP/1.1 200 OK\nConnection: keep-alive\nKeep-Alive: timeout=5, max=100\nServer: x\u202ey\nContent-Length: 0\n\n")
		}
	})
	p := measured(t, hasty(t, quick(url)), 1)
	got := p.Protocols[0]
	if h := got.KeepAlive; h == nil || h.Timeout != Millis(5*time.Second) || h.Max != 100 || h.Text != "timeout=5, max=100" {
		t.Errorf("hint %+v", h)
	}
	if got.Server != "x?y" {
		t.Errorf("server %q isn't made printable", got.Server)
	}
	wantIdle(t, "idle", got.Idle, idle, "fin")
	if p.Advice.ProxyIdleTimeout.Duration() > idle+10*slack {
		t.Errorf("advice %v: the hint says more than is true", p.Advice.ProxyIdleTimeout)
	}
}

// A connection that carries nothing has a timeout of its own, and some servers answer what
// nobody asked then.
func TestUnusedConnections(t *testing.T) {
	timeout408 := "HTTP/1.1 408 Request Timeout\nConnection: close\nContent-Length: 0\n\n"
	cfg, roots := serverTLS(t)
	for _, tt := range []struct {
		name string
		tls  *tls.Config
		end  func(c *scripted)
		how  string
	}{
		{"408", nil, func(c *scripted) { c.say(timeout408) }, "408, fin"},
		{"fin", nil, func(*scripted) {}, "fin"},
		{"reset", nil, func(c *scripted) { _ = c.raw.SetLinger(0) }, "reset"},
		{"other bytes", nil, func(c *scripted) { c.say("HTTP/1.1 200 OK\n\n") }, "surplus, fin"},
		{"tls 408", cfg, func(c *scripted) { c.say(timeout408); _ = c.Close() }, "408, close_notify, fin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := script(t, tt.tls, func(c *scripted, _ int) {
				if c.next(idle) == nil {
					tt.end(c)
					return
				}
				for c.say(ok); c.next(2*idle) != nil; {
					c.say(ok)
				}
			})
			o := quick(url)
			o.RootCAs = roots
			pr := hasty(t, o)
			pr.minUnused = 10 * time.Second
			p := measured(t, pr, 1).Protocols[0]
			wantIdle(t, "unused", p.Unused, idle, tt.how)
			if p.Unused.Conns != unusedConns {
				t.Errorf("%d unused connections, want %d", p.Unused.Conns, unusedConns)
			}
			if p.Idle.Min.Duration() < 2*idle-slack {
				t.Errorf("idle %v, want %v", p.Idle.Min, 2*idle)
			}
		})
	}
}

// A server may say goodbye long before it lets the connection go.
func TestCloseNotifyLongBeforeFIN(t *testing.T) {
	cfg, roots := serverTLS(t)
	for _, tt := range []struct {
		name    string
		closing time.Duration
		how     string
	}{{"fin later", idle, "close_notify, fin"}, {"no fin", time.Hour, "close_notify, lingers"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := script(t, cfg, func(c *scripted, _ int) {
				for wait := time.Duration(0); c.next(wait) != nil; wait = idle {
					c.say(ok)
				}
				_ = c.Conn.(*tls.Conn).CloseWrite()
				_ = c.raw.SetReadDeadline(time.Now().Add(tt.closing))
				var b [64]byte
				for {
					if _, err := c.raw.Read(b[:]); err != nil {
						return
					}
				}
			})
			o := quick(url)
			o.RootCAs = roots
			p := measured(t, hasty(t, o), 1).Protocols[0]
			wantIdle(t, "idle", p.Idle, idle, tt.how)
			if gap := p.Idle.Last.Duration(); tt.closing == idle && gap < idle-slack {
				t.Errorf("%v between close_notify and FIN, want %v", gap, idle)
			}
		})
	}
}
