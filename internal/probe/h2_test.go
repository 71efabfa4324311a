package probe

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/peer"
)

// How a server uses GOAWAY, when a connection idles and when it has had its requests, is told
// by the frames it sends.
func TestGoAwayHabits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		goAway peer.H2GoAway
		style  string
		how    string
		last   []uint32 // of an idle connection
	}{
		{"one step", peer.H2GoAway{}, "final", "goaway, fin", []uint32{1}},
		{"two steps", peer.H2GoAway{Grace: idle}, "two-step", "goaway, fin", []uint32{anyStream, 1}},
		{"none", peer.H2GoAway{Quiet: true}, "none", "fin", nil},
		{"none, reset", peer.H2GoAway{Quiet: true, Style: peer.RST}, "none", "reset", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := startH2(t, peer.H2Options{Faults: peer.H2Faults{
				MaxStreams: 77, StreamsPerConn: 20, IdleTimeout: idle, GoAway: tt.goAway, BodySize: 1000,
			}})
			o := quick("http://" + s.Addr() + "/")
			o.Protos = []string{H2C}
			p := measured(t, hasty(t, o), 1).Protocols[0]
			wantIdle(t, "idle", p.Idle, idle, tt.how)
			if p.Idle.GoAway != tt.style || !slices.Equal(lastStreams(p.Idle.GoAways), tt.last) {
				t.Errorf("idle: GOAWAY %q %+v, want %q %v", p.Idle.GoAway, p.Idle.GoAways, tt.style, tt.last)
			}
			if p.MaxStreams == nil || *p.MaxStreams != 77 {
				t.Errorf("max streams %v, want 77", p.MaxStreams)
			}
			r := p.Requests
			if r.Served != 20 || !r.Limited || r.GoAway != tt.style {
				t.Errorf("requests %+v, want 20 and GOAWAY %q", r, tt.style)
			}
			if last := lastStreams(r.GoAways); len(last) > 0 && last[len(last)-1] != 39 {
				t.Errorf("GOAWAY at the limit %+v, want the last stream 39", r.GoAways)
			}
			if p.HTTP != "HTTP/2.0" || p.Status != 200 || p.TLS != "" {
				t.Errorf("protocol %+v", p)
			}
			s.Close()
			if v := s.Report().Violations; len(v) > 0 {
				t.Errorf("the probe broke HTTP/2: %q", v)
			}
		})
	}
}

// A server that waits for what the protocol asks of a client gets it: acknowledgements, and a
// goodbye.
func TestHTTP2Manners(t *testing.T) {
	goodbyes := make(chan struct{}, 100)
	s := startH2(t, peer.H2Options{Handler: func(c *peer.H2Conn) {
		_ = c.Settings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		_ = c.Ping(false, [8]byte{7})
		acks := 0
		var waiting *peer.H2Request
		for {
			f, err := c.Read()
			if err != nil {
				return
			}
			_ = c.Respond(f)
			switch {
			case f.Ack():
				acks++
			case f.Type == http2.FrameGoAway:
				goodbyes <- struct{}{}
			case f.Request != nil:
				waiting = f.Request
			}
			if waiting != nil && acks >= 2 {
				_ = c.Answer(waiting)
				waiting = nil
			}
		}
	}})
	o := quick("http://" + s.Addr() + "/")
	o.Protos, o.Max = []string{H2C}, time.Second
	p := hasty(t, o)
	if r := measured(t, p, 1).Protocols[0].Requests; r.Served < 2 {
		t.Errorf("requests %+v", r)
	}
	wantEach(t, goodbyes, p.Plan().Connections)
	s.Close()
	if v := s.Report().Violations; len(v) > 0 {
		t.Errorf("the probe broke HTTP/2: %q", v)
	}
}

func lastStreams(gs []GoAway) []uint32 {
	var last []uint32
	for _, g := range gs {
		last = append(last, g.LastStream)
	}
	return last
}

// A server may say that it wants no new stream, and leave the close to the client.
func TestGoAwayThatEndsNothing(t *testing.T) {
	s := startH2(t, peer.H2Options{Handler: func(c *peer.H2Conn) {
		for _ = c.Settings(); ; {
			q, err := c.Request()
			if err != nil {
				return
			}
			_ = c.GoAway(anyStream, http2.ErrCodeNo)
			_ = c.Answer(q)
		}
	}})
	o := quick("http://" + s.Addr() + "/")
	o.Protos = []string{H2C}
	p := measured(t, hasty(t, o), 1).Protocols[0]
	r := p.Requests
	if r.Served != 1 || !r.Limited || r.By != "goaway" || r.GoAway != "announced" || r.Ending != "goaway, lingers" {
		t.Errorf("requests %+v", r)
	}
	if p.Idle != nil {
		t.Errorf("idle %+v, though no connection may be used again", p.Idle)
	}
}

// With https the server's offer decides: HTTP/2 and HTTP/1.1 are measured where it has both.
func TestALPNDecides(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server []string
		asked  []string
		want   []string // protocols
		fails  string   // the error of those that aren't there
	}{
		{"both", []string{"h2", "http/1.1"}, nil, []string{H2, H1S}, ""},
		{"h1 alone", []string{"http/1.1"}, nil, []string{H1S}, ""},
		{"no alpn", nil, nil, []string{H1S}, ""},
		{"both, one asked for", []string{"h2", "http/1.1"}, []string{H1S}, []string{H1S}, ""},
		{"both asked for", []string{"h2", "http/1.1"}, []string{H2, H1S}, []string{H1S, H2}, ""},
		{"h2 alone", []string{"h2"}, nil, []string{H2, H1S}, "alert"},
		{"h2 isn't there", []string{"http/1.1"}, []string{H1S, H2}, []string{H1S, H2}, "doesn't offer h2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, roots := serverTLS(t)
			cfg.NextProtos = tt.server
			if len(tt.server) == 1 { // crypto/tls by itself takes clients that offer http/1.1 alone
				cfg.VerifyConnection = func(cs tls.ConnectionState) error {
					if !slices.Contains(tt.server, cs.NegotiatedProtocol) {
						return errors.New("refused")
					}
					return nil
				}
			}
			var url string
			if slices.Contains(tt.server, "h2") {
				s := startH2(t, peer.H2Options{TLS: cfg, Faults: peer.H2Faults{IdleTimeout: idle}})
				url = "https://" + s.Addr() + "/"
			} else {
				url = script(t, cfg, func(c *scripted, _ int) {
					for wait := time.Duration(0); c.next(wait) != nil; wait = idle {
						c.say(ok)
					}
				})
			}
			o := quick(url)
			o.Protos, o.RootCAs, o.Max = tt.asked, roots, 3*idle
			p := hasty(t, o)
			p.minUnused = 0
			rep, err := p.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			failed := ""
			for _, pr := range rep.Protocols {
				got = append(got, pr.Proto)
				failed += pr.Error
				if pr.Error == "" && pr.Status != 200 {
					t.Errorf("%s: %+v", pr.Proto, pr)
				}
			}
			if !slices.Equal(got, tt.want) || (failed == "") != (tt.fails == "") || !strings.Contains(failed, tt.fails) {
				t.Errorf("protocols %v, error %q; want %v, %q", got, failed, tt.want, tt.fails)
			}
		})
	}
}

// Who speaks HTTP/2 to a server that doesn't is told so.
func TestNoHTTP2(t *testing.T) {
	s := startPeer(t, nil, peer.Faults{})
	o := quick("http://" + s.Addr() + "/")
	o.Protos = []string{H2C}
	_, err := hasty(t, o).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no HTTP/2 here") {
		t.Errorf("error %v", err)
	}
}
