package pool

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
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

func TestPostOnAnIdleConnectionAsksFirst(t *testing.T) {
	onIdle(t, time.Second+1, func(s *script, p *peerConn, tp *trip) {
		req := p.wantExpect()
		tp.wantPending()
		p.says("HTTP/1.1 103 Early Hints\r\n\r\n")
		tp.wantPending()
		p.says("HTTP/1.1 100 Continue\r\n\r\n")
		p.wantContent(req, "body")
		p.answer("ok")
		tp.wantBody("ok")
		s.confirmed(1, 0)
		s.wantNoDial()
	})
}

func TestPostOnAYoungConnectionDoesNot(t *testing.T) {
	onIdle(t, time.Second, func(s *script, p *peerConn, tp *trip) {
		req := p.wantHead()
		if req.Header["Expect"] != nil {
			s.Errorf("Expect %q", req.Header["Expect"])
		}
		p.wantContent(req, "body")
		p.answer("ok")
		tp.wantBody("ok")
		s.confirmed(0, 0)
	})
}

// A connection that dies before the 100: the head was sent, the body is as it was.
func TestDeathBeforeThe100(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		p.wantExpect()
		p.Close()
		e := tp.wantError(PhaseSending, io.EOF)
		if !e.HeadOnly || e.BodyTouched || e.Sent == 0 || !e.Reused || e.Timeout() {
			s.Errorf("error %+v", e)
		}
		if !strings.Contains(e.Error(), "with the head sent and nothing of the body") {
			s.Errorf("error %q", e)
		}
		s.confirmed(1, 1)
		s.wantNoDial() // it is for retry to decide
	})
}

func TestDeathBehindThe100IsNotHeadOnly(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		p.wantExpect()
		p.says("HTTP/1.1 100 Continue\r\n\r\n")
		p.Close()
		if e := tp.wantError(PhaseResponse, nil); e.HeadOnly {
			s.Errorf("error %+v", e)
		}
		s.confirmed(1, 0)
	})
}

// Where nothing comes the body goes after a while, and the host isn't asked any more: its idle
// connections have to be young then.
func TestSilentHostIsRemembered(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		req, start := p.wantExpect(), time.Now()
		p.SetReadDeadline(time.Time{})
		p.wantContent(req, "body")
		if d := time.Since(start); d != time.Second {
			s.Errorf("the body came after %v", d)
		}
		p.answer("ok")
		tp.wantBody("ok")
		s.confirmed(1, 1)

		time.Sleep(2 * time.Second)
		tp = s.start(s.request("POST", strings.NewReader("body")))
		p2 := s.wantDial().finish()
		p.wantClosed()
		if req, _ := p2.wantRequest(); req.Header["Expect"] != nil {
			s.Error("asked a deaf host")
		}
		p2.answer("ok")
		tp.wantBody("ok")

		time.Sleep(deafFor)
		s.start(s.request("POST", strings.NewReader("body")))
		p2.wantExpect()
		p2.Close()
	})
}

// A dead connection is silent, too. That says nothing of the host.
func TestSilentDeathIsNotDeafness(t *testing.T) {
	inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.exchange()
		time.Sleep(2 * time.Second)
		tp := s.start(s.request("POST", strings.NewReader("body")))
		req := p.wantExpect()
		p.SetReadDeadline(time.Time{})
		p.wantContent(req, "body")
		p.Close()
		if e := tp.wantError(PhaseSent, nil); e.HeadOnly {
			s.Errorf("error %+v", e)
		}
		s.confirmed(1, 1)
		if s.tr.allHosts()[0].isDeaf() {
			s.Error("taken for deaf")
		}
	})
}

// RFC 9110 section 10.1.1: a 417 asks for the request without the expectation.
func TestRejectedExpectationIsThePoolsAffair(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		p.wantExpect()
		p.says("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
		p.wantClosed()
		p2 := s.wantDial().finish()
		req, body := p2.wantRequest()
		if req.Header["Expect"] != nil || body != "body" {
			s.Errorf("Expect %q, body %q", req.Header["Expect"], body)
		}
		p2.answer("ok")
		tp.wantBody("ok")
		s.confirmed(1, 0)
		st := s.stats()
		if st.ClosedBy[ReasonUploadUnsent] != 1 || st.Replaced != 1 {
			s.Errorf("stats %+v", st.Totals)
		}

		time.Sleep(2 * time.Second) // it isn't asked again
		s.start(s.request("POST", strings.NewReader("body")))
		p3 := s.wantDial().finish()
		p3.wantRequest()
	})
}

// Once is enough, whatever the host says then.
func TestExpectationIsDroppedOnce(t *testing.T) {
	req, err := http.NewRequest("POST", "http://host.test/", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	c := &call{req: req, caution: newCaution(req)}
	e := &Error{Phase: PhaseResponse, Err: wire.ErrExpectationFailed}
	if !c.rejected(e) || c.rejected(e) {
		t.Error("not once")
	}
}

// A 417 behind the body, which went as nothing was heard: it is sent again only if it can be.
func TestLateRejection(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		req := p.wantExpect()
		p.SetReadDeadline(time.Time{})
		p.wantContent(req, "body")
		p.says("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
		if strings.Contains(s.Name(), "in_memory") && !strings.Contains(s.Name(), "again") {
			p2 := s.wantDial().finish()
			p2.serve("ok")
			tp.wantBody("ok")
			return
		}
		tp.wantError(PhaseResponse, wire.ErrExpectationFailed)
	})
}

// What the caller expects is the caller's affair, and serves as well.
func TestCallersOwnExpect(t *testing.T) {
	for _, status := range []string{"100 Continue", "417 Expectation Failed", "401 Unauthorized"} {
		inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
			p := s.exchange()
			time.Sleep(2 * time.Second)
			req := s.request("POST", strings.NewReader("body"))
			req.Header.Set("Expect", "100-Continue")
			tp := s.start(req)
			synctest.Wait()
			got := p.wantHead()
			if vv := got.Header["Expect"]; len(vv) != 1 || vv[0] != "100-Continue" {
				s.Fatalf("Expect %q", vv)
			}
			if n := p.Unread() + p.br.Buffered(); n > 0 { // Base has no ExpectContinueTimeout
				s.Fatalf("%d bytes of the body", n)
			}
			if strings.HasPrefix(status, "100") {
				p.says("HTTP/1.1 100 Continue\r\n\r\n")
				p.wantContent(got, "body")
				p.answer("ok")
				tp.wantBody("ok")
			} else {
				p.says("HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				tp.wantBody("")
				if tp.resp.Status != status {
					s.Errorf("status %q", tp.resp.Status)
				}
			}
			s.confirmed(1, 0)
			s.wantNoDial()
		})
	}
}

// A final answer that is no 417 is the answer.
func TestFinalAnswerIsTheAnswer(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		req := p.wantExpect()
		p.says("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
		tp.wantHead()
		p.wantContent(req, "body") // the connection goes on, so it has to come
		tp.wantBody("big")
		s.confirmed(1, 0)
		p.wantOpen()
	})
}

// A request without a body can't ask: it gets a connection that is young, or a new one in the
// place of the oldest.
func TestWithoutABodyTheConnectionHasToBeYoung(t *testing.T) {
	for _, limit := range []int{0, 2} {
		for _, method := range []string{"DELETE", "POST", "PUT", "PATCH"} {
			inBubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: limit}, func(s *script) {
				old, young := s.get(), s.get()
				pOld, pYoung := s.wantDial().finish(), s.wantDial().finish()
				pOld.serve("ok")
				old.wantBody("ok")
				time.Sleep(time.Second)
				pYoung.serve("ok")
				young.wantBody("ok")

				tp := s.start(s.request(method, nil)) // the young one
				pYoung.serve("ok")
				tp.wantBody("ok")
				s.wantNoDial()

				time.Sleep(time.Second + 1) // now both are old
				tp = s.start(s.request(method, nil))
				pOld.wantClosed()
				pYoung.wantOpen()
				p := s.wantDial().finish()
				p.serve("ok")
				tp.wantBody("ok")
				st := s.stats()
				if st.Idle != 2 || st.ClosedBy[ReasonUnconfirmed] != 1 || st.Confirmed != 0 {
					s.Errorf("stats %+v", st)
				}
			})
		}
	}
}

// At the limit, many such requests neither wait for each other for ever nor lose a slot.
func TestManyWithoutABodyAtTheLimit(t *testing.T) {
	inBubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: 1}, func(s *script) {
		p := s.exchange()
		time.Sleep(2 * time.Second)
		var tps []*trip
		for range 5 {
			tps = append(tps, s.start(s.request("DELETE", nil)))
		}
		p.wantClosed()
		p = s.wantDial().finish()
		for _, tp := range tps {
			p.serve("ok")
			tp.wantBody("ok")
		}
		s.wantNoDial()
		time.Sleep(2 * time.Second)
		tp := s.get() // asks for nothing
		p.serve("ok")
		tp.wantBody("ok")
	})
}

// A delivered connection that its receiver finds too late is judged again.
func TestDeliveredConnectionHasToBeYoungToo(t *testing.T) {
	inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.exchange()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		c, _ := h.pickLocked(wish{}, time.Now())
		h.holdLocked(c)
		h.mu.Unlock()
		time.Sleep(time.Second + 1)
		ca := newCaution(s.request("DELETE", nil)).of(h)
		if g, err := h.admit(grant{c: c, reused: true}, ca); g.c != nil || err != nil {
			t.Errorf("got %+v, %v, want none", g, err)
		}
		p.wantClosed()
	})
}

func TestWhoAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		req         *http.Request
		minds, asks bool
	}{
		"GET":                      {&http.Request{Method: "GET", Body: oneShot("x"), ContentLength: 1}, false, false},
		"":                         {&http.Request{}, false, false},
		"HEAD":                     {&http.Request{Method: "HEAD"}, false, false},
		"OPTIONS":                  {&http.Request{Method: "OPTIONS"}, false, false},
		"TRACE":                    {&http.Request{Method: "TRACE"}, false, false},
		"CONNECT":                  {&http.Request{Method: "CONNECT", Body: oneShot("x")}, false, false},
		"upgrade":                  {&http.Request{Method: "POST", Body: oneShot("x"), Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"x"}}}, false, false},
		"POST":                     {&http.Request{Method: "POST", Body: oneShot("x")}, true, true},
		"POST without":             {&http.Request{Method: "POST"}, true, false},
		"POST of nothing":          {&http.Request{Method: "POST", Body: http.NoBody}, true, false},
		"DELETE":                   {&http.Request{Method: "DELETE"}, true, false},
		"DELETE with":              {&http.Request{Method: "DELETE", Body: oneShot("x"), ContentLength: 1}, true, true},
		"DELETE with, perhaps":     {&http.Request{Method: "DELETE", Body: oneShot(""), ContentLength: -1}, true, false},
		"DELETE in chunks":         {&http.Request{Method: "DELETE", Body: oneShot("x"), TransferEncoding: []string{"chunked"}}, true, true},
		"own":                      {&http.Request{Method: "LOCK", Body: oneShot("x")}, true, true},
		"another expectation":      {&http.Request{Method: "POST", Body: oneShot("x"), Header: http.Header{"Expect": {"wonders"}}}, true, false},
		"the caller's expectation": {&http.Request{Method: "POST", Body: oneShot("x"), Header: http.Header{"Expect": {"100-Continue"}}}, true, true},
	} {
		ca := newCaution(tt.req)
		if minds := ca != nil; minds != tt.minds || minds && ca.asks != tt.asks {
			t.Errorf("%s: %+v", name, ca)
		}
	}
}

func TestConfirmAfterIsChecked(t *testing.T) {
	for field, cfg := range map[string]Config{
		"Config.ConfirmAfter":               {ConfirmAfter: -1},
		`Config.Hosts["h:80"].ConfirmAfter`: {Hosts: map[string]HostConfig{"h:80": {ConfirmAfter: -1}}},
	} {
		_, err := New(cfg)
		if e, ok := errors.AsType[*ConfigError](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := New(Config{ConfirmAfter: time.Nanosecond}); err != nil {
		t.Errorf("asking always: %v", err)
	}
}

// One host's setting is that host's.
func TestConfirmAfterOfAHost(t *testing.T) {
	cfg := Config{Hosts: map[string]HostConfig{"host.test:80": {ConfirmAfter: time.Second}}}
	inBubble(t, cfg, func(s *script) {
		p := s.exchange()
		other := func() *http.Request {
			req := s.request("POST", strings.NewReader("body"))
			req.URL.Host = "other.test"
			return req
		}
		tp := s.start(other())
		q := s.wantDial().finish()
		q.serve("ok")
		tp.wantBody("ok")
		time.Sleep(2 * time.Second)
		tp = s.start(other())
		tp.wantPending()
		if got := q.wantHead(); got.Header["Expect"] != nil {
			t.Error("asked the other host")
		}
		q.Close()
		tp = s.start(s.request("POST", strings.NewReader("body")))
		p.wantExpect()
		p.Close()
		tp.wantError(PhaseSending, nil)
	})
}
