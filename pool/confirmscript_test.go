package pool

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// wantHead reads a request's head, and nothing of its body.
func (p *peerConn) wantHead() *http.Request {
	p.s.Helper()
	p.SetReadDeadline(time.Now().Add(time.Second))
	req, err := http.ReadRequest(p.br)
	if err != nil {
		p.s.Fatalf("reading the request: %v", err)
	}
	return req
}

// wantExpect reads the head of a request that waits for 100 Continue.
func (p *peerConn) wantExpect() *http.Request {
	p.s.Helper()
	synctest.Wait()
	req := p.wantHead()
	synctest.Wait()
	if req.Header.Get("Expect") != "100-continue" || p.Unread()+p.br.Buffered() > 0 {
		p.s.Fatalf("Expect %q, %d bytes of the body", req.Header.Get("Expect"), p.Unread()+p.br.Buffered())
	}
	return req
}

func (p *peerConn) says(text string) {
	p.s.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.s.Fatal(err)
	}
	synctest.Wait()
}

// wantContent reads the body of a request.
func (p *peerConn) wantContent(req *http.Request, want string) {
	p.s.Helper()
	if b, err := io.ReadAll(req.Body); string(b) != want || err != nil {
		p.s.Fatalf("body %q, %v; want %q", b, err, want)
	}
}

// confirmed wants these counters.
func (s *script) confirmed(asked, failed uint64) {
	s.Helper()
	if st := s.stats(); st.Confirmed != asked || st.ConfirmFailed != failed {
		s.Errorf("%d asked, %d failed; want %d, %d", st.Confirmed, st.ConfirmFailed, asked, failed)
	}
}

// posts are POSTs by the ways in which their bodies are sent.
func posts(s *script) map[string]*http.Request {
	sized := s.request("POST", oneShot("body"))
	sized.ContentLength = 4
	memory := s.request("POST", io.NopCloser(strings.NewReader("body")))
	memory.ContentLength = 4 // in memory, but without GetBody
	return map[string]*http.Request{
		"in memory":                      s.request("POST", strings.NewReader("body")),
		"in memory, not to be had again": memory,
		"chunked":                        s.request("POST", oneShot("body")),
		"sized":                          sized,
	}
}

// onIdle runs f for each way to send a body, with a connection that was idle for that long.
func onIdle(t *testing.T, idle time.Duration, f func(s *script, p *peerConn, tp *trip)) {
	for _, name := range []string{"in memory", "in memory, not to be had again", "chunked", "sized"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
				p := s.exchange()
				time.Sleep(idle)
				req := posts(s)[name]
				tp := s.start(req)
				f(s, p, tp)
				if req.Header.Get("Expect") != "" {
					t.Error("the caller's header was changed")
				}
			})
		})
	}
}
