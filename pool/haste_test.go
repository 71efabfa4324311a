package pool

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A peer that closes connections of any age restarts, most likely. Until that is over it's asked
// on all of them.
func TestHastyPeerIsAskedOnEveryConnection(t *testing.T) {
	post := func(s *script) *trip { return s.start(s.request("POST", strings.NewReader("body"))) }
	for name, end := range map[string]func(s *script, p *peerConn){
		"while it is idle": func(s *script, p *peerConn) { p.Close(); synctest.Wait() },
		"as a request comes": func(s *script, p *peerConn) {
			tp := post(s)
			p.wantRequest()
			p.Close()
			tp.wantError(PhaseSent, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
				p := s.exchange()
				time.Sleep(200 * ms)
				end(s, p)

				p = s.exchange()
				time.Sleep(ms)
				tp := post(s)
				req := p.wantExpect()
				p.says("HTTP/1.1 100 Continue\r\n\r\n")
				p.wantContent(req, "body")
				p.answer("ok")
				tp.wantBody("ok")

				time.Sleep(hastySpan - 900*ms)
				s.wantReused(p) // a GET asks nothing
				time.Sleep(900 * ms)
				tp = post(s) // it's over
				if req, _ := p.wantRequest(); req.Header["Expect"] != nil {
					s.Error("asked after 5 s")
				}
				p.answer("ok")
				tp.wantBody("ok")
			})
		})
	}
}

// An idle timer that is longer than ConfirmAfter is no haste.
func TestTimerIsNoHaste(t *testing.T) {
	inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		s.closedAfter(s.exchange(), 3*time.Second)
		p := s.exchange()
		time.Sleep(ms)
		tp := s.start(s.request("POST", strings.NewReader("body")))
		if req, body := p.wantRequest(); req.Header["Expect"] != nil || body != "body" {
			s.Errorf("Expect %q, body %q", req.Header["Expect"], body)
		}
		p.answer("ok")
		tp.wantBody("ok")
	})
}
