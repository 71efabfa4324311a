package pool

import (
	"slices"
	"testing"
)

// The first request on a connection asks for what is the default, as some servers tell their
// timeout to those only who ask. Later ones, and those that say otherwise, don't.
func TestFirstRequestAsksForKeepAlive(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		for i, want := range []string{"keep-alive", ""} {
			if i > 0 {
				tp = s.get()
			}
			req, _ := p.wantRequest()
			if got := req.Header.Get("Connection"); got != want {
				t.Errorf("request %d: Connection: %q, want %q", i, got, want)
			}
			p.answer("ok")
			tp.wantBody("ok")
		}
		s.tr.CloseIdleConnections()

		own := s.request("GET", nil)
		own.Header.Set("Connection", "Te")
		own.Header.Set("Te", "trailers")
		tp = s.start(own)
		p = s.wantDial().finish()
		if req, _ := p.wantRequest(); len(req.Header["Connection"]) != 1 || req.Header.Get("Connection") != "Te" {
			t.Errorf("the caller's own: Connection: %q", req.Header["Connection"])
		}
		p.answer("ok")
		tp.wantBody("ok")
		s.tr.CloseIdleConnections()

		last := s.request("GET", nil)
		last.Close = true
		tp = s.start(last)
		p = s.wantDial().finish()
		if req, _ := p.wantRequest(); !req.Close || slices.Contains(req.Header["Connection"], "keep-alive") {
			t.Errorf("with Close: %v", req.Header)
		}
		p.answer("ok")
		tp.wantBody("ok")
	})
}
