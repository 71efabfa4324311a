package pool

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/h2"
	"example.com/connwise/internal/peer"
)

// wantPing is the next frame but SETTINGS' and the like, a PING. An unmuted peer has answered it.
func (p *h2Peer) wantPing() *peer.H2Frame {
	p.s.Helper()
	return p.wantFrame(http2.FramePing)
}

// pings counts the PINGs that have come, and drops all frames.
func (p *h2Peer) pings() (n int) {
	synctest.Wait()
	for {
		select {
		case f := <-p.frames:
			if f.Type == http2.FramePing {
				n++
			}
		default:
			return n
		}
	}
}

// post starts a POST that has a body.
func (s *script) post() *trip { return s.start(s.request("POST", strings.NewReader("body"))) }

// idleH2 is a peer whose connection has served a request and was idle for that long.
func (s *script) idleH2(idle time.Duration) *h2Peer {
	s.Helper()
	tp := s.get()
	p := s.wantDial().serveH2(10)
	p.serve()
	tp.wantOK()
	p.pings()
	time.Sleep(idle)
	return p
}

func TestIdleStreamConnectionIsPingedFirst(t *testing.T) {
	for _, method := range []string{"POST", "DELETE"} {
		h2Bubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
			p := s.idleH2(time.Second + 1)
			p.mute.Store(true)
			tp := s.start(s.request(method, nil))
			ping := p.wantPing()
			p.wantNoRequest()
			tp.wantPending()
			time.Sleep(200 * time.Millisecond) // it has 250
			if err := p.c.Respond(ping); err != nil {
				s.Fatal(err)
			}
			p.serve()
			tp.wantOK()
			s.confirmed(1, 0)
			s.wantNoDial()
		})
	}
}

func TestYoungStreamConnectionIsNot(t *testing.T) {
	h2Bubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.idleH2(time.Second)
		tp := s.post()
		p.serve()
		tp.wantOK()
		time.Sleep(time.Hour)
		tp = s.get()
		p.serve()
		tp.wantOK()
		if n := p.pings(); n != 0 {
			s.Errorf("%d PINGs", n)
		}
		s.confirmed(0, 0)
	})
}

// A connection from which frames came a moment ago is as good as one that was asked.
func TestBusyStreamConnectionIsPingedOnlyIfSilent(t *testing.T) {
	h2Bubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.idleH2(0)
		long := s.get()
		q := p.wantRequest()
		if err := p.c.Headers(q.Stream, false, ":status", "200"); err != nil {
			s.Fatal(err)
		}
		for range 5 {
			time.Sleep(900 * time.Millisecond)
			if err := p.c.Data(q.Stream, false, []byte("x")); err != nil {
				s.Fatal(err)
			}
		}
		tp := s.post()
		p.serve()
		tp.wantOK()
		if n := p.pings(); n != 0 {
			s.Errorf("%d PINGs", n)
		}
		time.Sleep(2 * time.Second)
		tp = s.post()
		p.wantPing()
		p.serve()
		tp.wantOK()
		long.resp.Body.Close()
	})
}

// The peer that took its time once is given more the next time.
func TestPatienceGrowsWithTheRoundTrip(t *testing.T) {
	base := &http.Transport{HTTP2: &http.HTTP2Config{PingTimeout: 700 * time.Millisecond}}
	h2Bubble(t, Config{ConfirmAfter: time.Second, Base: base}, func(s *script) {
		tp := s.get()
		d := s.wantDial()
		time.Sleep(100 * time.Millisecond) // it takes so long to connect
		p := d.serveH2(10)
		p.serve()
		tp.wantOK()
		h := s.tr.allHosts()[0]
		var c *conn
		for c = range h.conns {
		}
		if d := c.patience(); d != 400*time.Millisecond {
			s.Errorf("%v before a PING", d)
		}
		for _, rtt := range []time.Duration{150 * time.Millisecond, 10 * time.Millisecond, 300 * time.Millisecond} {
			time.Sleep(2 * time.Second)
			p.pings()
			p.mute.Store(true)
			tp := s.post()
			ping := p.wantPing()
			time.Sleep(min(rtt, c.patience()-time.Millisecond))
			if err := p.c.Respond(ping); err != nil {
				s.Fatal(err)
			}
			p.mute.Store(false)
			p.serve()
			tp.wantOK()
			want := min(max(4*c.h2.State().PingRTT, confirmWait), 700*time.Millisecond)
			if d := c.patience(); d != want {
				s.Errorf("%v after a round trip of %v, want %v", d, rtt, want)
			}
		}
	})
}

// HeadOnly holds for a stream, too, where the caller expects a word.
func TestStreamWithoutItsBody(t *testing.T) {
	base := &http.Transport{ExpectContinueTimeout: time.Minute}
	h2Bubble(t, Config{Base: base}, func(s *script) {
		req := s.request("POST", oneShot("body"))
		req.Header.Set("Expect", "100-continue")
		tp := s.start(req)
		p := s.wantDial().serveH2(10)
		p.wantHeaders()
		p.close()
		if e := tp.wantError(PhaseSending, nil); !e.HeadOnly || e.BodyTouched {
			s.Errorf("error %+v", e)
		}
	})
}

func TestPoolsPingGap(t *testing.T) {
	h2Bubble(t, Config{ConfirmAfter: time.Millisecond}, func(s *script) {
		p := s.idleH2(h2.PingGap)
		tp := s.post()
		p.serve()
		tp.wantOK()
		s.confirmed(0, 0)
		time.Sleep(h2.PingGap + 1)
		tp = s.post()
		p.wantPing()
		p.serve()
		tp.wantOK()
	})
}
