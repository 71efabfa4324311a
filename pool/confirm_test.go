package pool

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

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

// Where nothing comes the body goes after a while. A host that has been silent twice in a row
// isn't asked any more: its idle connections have to be young then.
func TestSilentHostIsRemembered(t *testing.T) {
	onIdle(t, 2*time.Second, func(s *script, p *peerConn, tp *trip) {
		silent := func() {
			s.Helper()
			req, start := p.wantExpect(), time.Now()
			p.SetReadDeadline(time.Time{})
			p.wantContent(req, "body")
			if d := time.Since(start); d != time.Second {
				s.Errorf("the body came after %v", d)
			}
			p.answer("ok")
			tp.wantBody("ok")
			time.Sleep(2 * time.Second)
		}
		silent()
		tp = s.start(s.request("POST", strings.NewReader("body")))
		req := p.wantExpect()
		p.says("HTTP/1.1 100 Continue\r\n\r\n") // it was only slow
		p.wantContent(req, "body")
		p.answer("ok")
		tp.wantBody("ok")
		time.Sleep(2 * time.Second)
		for range unheardDeaf {
			tp = s.start(s.request("POST", strings.NewReader("body")))
			silent()
		}
		s.confirmed(4, 3)

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
		if s.tr.allHosts()[0].deafUntil.After(time.Now()) {
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
