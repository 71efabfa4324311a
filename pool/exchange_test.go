package pool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A countedBody is a request body that notes how it is used. It has no lock: RoundTrip
// must not use it any more when it has returned an error, and the race detector tells.
type countedBody struct {
	io.Reader
	reads, closes int
}

func (b *countedBody) Read(p []byte) (int, error) {
	b.reads++
	return b.Reader.Read(p)
}

func (b *countedBody) Close() error {
	b.closes++
	return nil
}

// bodies are the kinds of request body that the pool treats differently.
func bodies(s *script) map[string]*http.Request {
	oneShot := s.request("POST", nil)
	oneShot.Body, oneShot.ContentLength = io.NopCloser(bytes.NewReader([]byte("payload"))), 7
	stream := s.request("POST", &countedBody{Reader: strings.NewReader("payload")})
	return map[string]*http.Request{
		"replayable, in memory":         s.request("POST", strings.NewReader("payload")),
		"in memory, without GetBody":    oneShot,
		"stream":                        stream,
		"none":                          s.request("DELETE", nil),
		"none, but a length of zero":    s.request("POST", http.NoBody),
		"larger than what counts small": s.request("PUT", strings.NewReader(strings.Repeat("x", maxSmall+1))),
	}
}

// A reused connection that takes no byte is replaced without the caller's knowledge,
// whatever the method, and the body arrives whole.
func TestStaleConnectionIsReplaced(t *testing.T) {
	for _, name := range []string{"replayable, in memory", "in memory, without GetBody", "stream", "none", "none, but a length of zero", "larger than what counts small"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				stale := s.exchange()
				stale.client.FailWriteAfter(0, syscall.EPIPE)
				req := bodies(s)[name]
				tp := s.start(req)
				p := s.wantDial().finish()
				_, body := p.wantRequest()
				if want := max(req.ContentLength, 0); want > 0 && int64(len(body)) != want || strings.Contains(name, "stream") && body != "payload" {
					t.Errorf("the body arrived as %q", body)
				}
				p.answer("ok")
				tp.wantBody("ok")
				if b, ok := req.Body.(*countedBody); ok && b.closes != 1 {
					t.Errorf("the body was closed %d times", b.closes)
				}
				if st := s.stats(); st.Replaced != 1 || st.Failed != 0 || st.ClosedBy[ReasonPeerClosed] != 1 {
					t.Errorf("%+v, want one replaced, none failed", st.Totals)
				}
			})
		})
	}
}

// On a fresh connection the same failure is the caller's to know: another dial may meet
// the same, so it is for retry to decide. But it's proven that nothing was sent.
func TestFreshConnectionIsNotReplaced(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		body := &countedBody{Reader: strings.NewReader("payload")}
		tp := s.start(s.request("POST", body))
		d := s.wantDial()
		d.peer.client.FailWriteAfter(0, syscall.EPIPE)
		d.finish()
		e := tp.wantError(PhaseUnsent, syscall.EPIPE)
		if e.Reused || e.Sent != 0 || e.BodyTouched || body.reads != 0 || body.closes != 1 {
			t.Errorf("%+v, body %d reads %d closes", e, body.reads, body.closes)
		}
		s.wantNoDial()
	})
}

// One accepted byte ends the proof, and so does an answer that never comes: the
// connection was reused, but the request isn't sent again.
func TestWhatMayHaveBeenSentIsNotReplaced(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ruin  func(*peerConn)
		phase Phase
		cause error
	}{
		{"a byte was taken", func(p *peerConn) { p.client.FailWriteAfter(1, syscall.EPIPE) }, PhaseSending, syscall.EPIPE},
		{"closed without an answer", func(p *peerConn) { p.wantRequest(); p.Close() }, PhaseSent, io.ErrUnexpectedEOF},
		{"reset without an answer", func(p *peerConn) { p.wantRequest(); p.Reset() }, PhaseSent, syscall.ECONNRESET},
		{"closed within the head", func(p *peerConn) { p.wantRequest(); io.WriteString(p, "HTTP/1.1 2"); p.Close() }, PhaseResponse, io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				p := s.exchange()
				if tt.phase == PhaseSending {
					tt.ruin(p)
				}
				tp := s.start(s.request("GET", nil))
				if tt.phase != PhaseSending {
					tt.ruin(p)
				}
				<-tp.done // after a failed write an answer is waited for, for a while
				e := tp.wantError(tt.phase, nil)
				if !errors.Is(e, tt.cause) && !(tt.cause == io.ErrUnexpectedEOF && errors.Is(e, io.EOF)) {
					t.Errorf("cause %v, want %v", e.Err, tt.cause)
				}
				if !e.Reused || e.Sent == 0 || e.Phase.Unprocessed() || e.Proto != "HTTP/1.1" || e.Addr == "" || e.Host != "host.test:80" {
					t.Errorf("%+v", e)
				}
				s.wantNoDial()
				if st := s.stats(); st.ClosedBy[ReasonPeerAborted] != 1 {
					t.Errorf("closed by %v", st.ClosedBy)
				}
			})
		})
	}
}

func TestReplacementIsBounded(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		var trips []*trip
		var peers []*peerConn
		for range maxReplacements + 2 {
			trips = append(trips, s.get())
			peers = append(peers, s.wantDial().finish())
		}
		for i, tp := range trips {
			peers[i].serve("ok")
			tp.wantHead()
		}
		for i, tp := range trips {
			tp.wantBody("ok")
			peers[i].client.FailWriteAfter(0, syscall.EPIPE)
		}
		start := time.Now()
		tp := s.get()
		<-tp.done
		e := tp.wantError(PhaseUnsent, syscall.EPIPE)
		if took := time.Since(start); !e.Reused || took != 20*time.Millisecond {
			t.Errorf("reused %v, after %v: want growing delays of 20ms in all", e.Reused, took)
		}
		if st := s.stats(); st.Replaced != maxReplacements || st.Idle != 1 {
			t.Errorf("replaced %d, idle %d, want %d and 1", st.Replaced, st.Idle, maxReplacements)
		}
	})
}

func TestBodyErrorIsTheCallers(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		cause := errors.New("disk on fire")
		body := &countedBody{Reader: io.MultiReader(strings.NewReader("some"), errReader{cause})}
		tp := s.start(s.request("POST", body))
		s.wantDial().finish()
		e := tp.wantError(PhaseSending, cause)
		c, ok := errors.AsType[*CallerError](e)
		if !ok || c.Source != CallerBody || !e.BodyTouched || body.closes != 1 {
			t.Errorf("%+v, closed %d times", e, body.closes)
		}
	})
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// A body in memory whose length is wrong is found out before anything is sent: the
// connection is as good as before.
func TestWrongLengthOfABodyInMemory(t *testing.T) {
	for name, length := range map[string]int64{"too short": 100, "too long": 3} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				p := s.exchange()
				req := s.request("POST", strings.NewReader("payload"))
				req.ContentLength = length
				e := s.start(req).wantError(PhaseUnsent, nil)
				if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerBody {
					t.Errorf("%v isn't the caller's", e)
				}
				s.wantReused(p)
			})
		})
	}
}

func TestBeforeSendVetoes(t *testing.T) {
	expired := errors.New("signature expired")
	veto := false
	cfg := Config{BeforeSend: func(r *http.Request) error {
		if veto {
			return expired
		}
		return nil
	}}
	inBubble(t, cfg, func(s *script) {
		p := s.exchange()
		veto = true
		body := &countedBody{Reader: strings.NewReader("payload")}
		e := s.start(s.request("POST", body)).wantError(PhaseUnsent, expired)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerHook {
			t.Errorf("%v isn't the hook's", e)
		}
		if body.reads != 0 || body.closes != 1 {
			t.Errorf("body %d reads, %d closes, want 0 and 1", body.reads, body.closes)
		}
		veto = false
		s.wantReused(p)
	})
}

func TestBadRequestsTouchNothing(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"no URL":         func(r *http.Request) { r.URL = nil },
		"no header map":  func(r *http.Request) { r.Header = nil },
		"bad scheme":     func(r *http.Request) { r.URL.Scheme = "ftp" },
		"bad method":     func(r *http.Request) { r.Method = "GE T" },
		"no host":        func(r *http.Request) { r.URL.Host = "" },
		"bad field name": func(r *http.Request) { r.Header["a b"] = []string{"x"} },
		"bad field":      func(r *http.Request) { r.Header["Authorization"] = []string{"secret\r\nInjected: 1"} },
		"bad trailer":    func(r *http.Request) { r.Trailer = http.Header{"A": {"\x00"}} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				body := &countedBody{Reader: strings.NewReader("payload")}
				req := s.request("POST", body)
				change(req)
				e := s.start(req).wantError(PhaseUnsent, nil)
				if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerRequest {
					t.Errorf("%#v isn't the request's", e)
				}
				if strings.Contains(e.Error(), "secret") {
					t.Errorf("a field's value is in the error: %v", e)
				}
				if body.reads != 0 || body.closes != 1 {
					t.Errorf("body %d reads, %d closes, want 0 and 1", body.reads, body.closes)
				}
				s.wantNoDial()
			})
		})
	}
}

// The caller's request is read, never written.
func TestRequestIsNotChanged(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		req := s.request("POST", &countedBody{Reader: strings.NewReader("payload")})
		req.Header.Set("X-A", "1")
		before, header := *req, req.Header.Clone()
		tp := &trip{s: s, done: make(chan struct{})}
		go func() {
			defer close(tp.done)
			tp.resp, tp.err = s.tr.RoundTrip(req)
		}()
		p := s.wantDial().finish()
		p.serve("ok")
		tp.wantBody("ok")
		if tp.resp.Request != req {
			t.Error("Response.Request is another request")
		}
		if req.Body != before.Body || req.ContentLength != before.ContentLength || req.URL != before.URL || len(req.Header) != len(header) {
			t.Error("the request was changed")
		}
	})
}

// The hooks fire as net/http fires them, and none once RoundTrip has returned.
func TestTraceHooks(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		var mu sync.Mutex
		var events []string
		note := func(e string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
		}
		trace := &httptrace.ClientTrace{
			GetConn: func(hostPort string) { note("GetConn " + hostPort) },
			GotConn: func(i httptrace.GotConnInfo) {
				note("GotConn")
				if i.Conn == nil || i.Reused || i.WasIdle {
					t.Errorf("GotConnInfo %+v of a fresh connection", i)
				}
			},
			WroteHeaders:         func() { note("WroteHeaders") },
			WroteRequest:         func(i httptrace.WroteRequestInfo) { note("WroteRequest") },
			GotFirstResponseByte: func() { note("GotFirstResponseByte") },
			PutIdleConn:          func(err error) { note("PutIdleConn") },
		}
		req := s.request("GET", nil)
		tp := s.start(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		p := s.wantDial().finish()
		p.serve("ok")
		tp.wantBody("ok")
		want := []string{"GetConn host.test:80", "GotConn", "WroteHeaders", "WroteRequest", "GotFirstResponseByte", "PutIdleConn"}
		if !slices.Equal(events, want) {
			t.Errorf("events %q\nwant   %q", events, want)
		}
	})
}

func TestDialOfAnEndedRequestCallsNoHook(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		over := false
		trace := &httptrace.ClientTrace{ConnectStart: func(string, string) {
			if over {
				t.Error("a hook was called after RoundTrip had returned")
			}
		}}
		ctx := httptrace.WithClientTrace(context.Background(), trace)
		tp := s.start(s.request("GET", nil).WithContext(ctx))
		d := s.wantDial()
		dialTrace := httptrace.ContextClientTrace(d.ctx)
		dialTrace.ConnectStart("tcp", "a") // as a dialer would
		tp.cancel()
		tp.wantError(PhaseDial, context.Canceled)
		over = true
		dialTrace.ConnectStart("tcp", "b")
		d.fail(io.EOF)
	})
}

// Values of the caller's context reach its dial hook; its end doesn't.
func TestDialHookSeesTheContextsValues(t *testing.T) {
	type key struct{}
	inBubble(t, Config{}, func(s *script) {
		ctx := context.WithValue(context.Background(), key{}, "v")
		tp := s.start(s.request("GET", nil).WithContext(ctx))
		d := s.wantDial()
		if d.ctx.Value(key{}) != "v" {
			t.Error("the value is missing")
		}
		if _, ok := d.ctx.Deadline(); !ok {
			t.Error("the dial has no deadline of its own")
		}
		d.finish().serve("ok")
		tp.wantBody("ok")
	})
}

func TestCancelWhileReadingTheBody(t *testing.T) {
	inBubble(t, Config{MaxConnsPerHost: 1}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		tp.wantHead()
		tp.cancel() // and the caller neither reads nor closes
		p.wantClosed()
		if st := s.stats(); st.InUse != 0 || st.ClosedBy[ReasonCancelled] != 1 {
			t.Errorf("%+v, want the slot back", st)
		}
		_, err := io.ReadAll(tp.resp.Body)
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseResponse || !errors.Is(err, context.Canceled) {
			t.Errorf("the body ends with %v", err)
		}
	})
}

func TestResponseHeaderTimeout(t *testing.T) {
	cfg := Config{Base: &http.Transport{ResponseHeaderTimeout: 200 * time.Millisecond}}
	inBubble(t, cfg, func(s *script) {
		start := time.Now()
		tp := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		<-tp.done
		e := tp.wantError(PhaseSent, nil)
		if took := time.Since(start); took != 200*time.Millisecond || !e.Timeout() {
			t.Errorf("after %v: %v", took, e)
		}
		p.wantClosed()
		if st := s.stats(); st.ClosedBy[ReasonTimeout] != 1 {
			t.Errorf("closed by %v", st.ClosedBy)
		}
	})
}

// Answers without a body give the connection back before RoundTrip returns.
func TestAnswerWithoutABody(t *testing.T) {
	inBubble(t, Config{ProxyIdleTimeout: time.Hour}, func(s *script) {
		tp := s.start(s.request("HEAD", nil))
		p := s.wantDial().finish()
		p.serve("", "Keep-Alive: timeout=5")
		tp.wantHead()
		if st := s.stats(); st.Idle != 1 || st.IdleLimit != 4500*time.Millisecond {
			t.Errorf("%+v, want it idle, with the announced limit", st)
		}
		s.wantReused(p)
	})
}

// Whatever comes behind an answer belongs to nobody.
func TestSurplusBytesEndTheConnection(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		p.wantRequest()
		io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad")
		tp.wantBody("ok")
		p.wantClosed()
		if st := s.stats(); st.ClosedBy[ReasonUnsolicited] != 1 {
			t.Errorf("closed by %v", st.ClosedBy)
		}
		s.wantRenewed()
	})
}

// The pool reaches a proxy by itself; what its hooks say is the caller's word.
func TestProxyHookVetoes(t *testing.T) {
	veto := errors.New("no token")
	base := &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test:3128"}),
		GetProxyConnectHeader: func(context.Context, *url.URL, string) (http.Header, error) {
			return nil, veto
		},
	}
	inBubble(t, Config{Base: base}, func(s *script) {
		req := s.request("GET", nil)
		req.URL.Scheme = "https"
		tp := s.start(req)
		s.wantDial().finish()
		e := tp.wantError(PhaseDial, veto)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerHook {
			t.Errorf("%v isn't the hook's", e)
		}
	})
}

func TestTraceHookVetoes(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		veto := errors.New("no hints")
		trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { return veto }}
		tp := s.start(s.request("GET", nil).WithContext(httptrace.WithClientTrace(context.Background(), trace)))
		p := s.wantDial().finish()
		p.wantRequest()
		io.WriteString(p, "HTTP/1.1 103 Early Hints\r\n\r\n")
		e := tp.wantError(PhaseResponse, veto)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerHook {
			t.Errorf("%v isn't the hook's", e)
		}
		p.wantClosed()
	})
}

func TestRequestThatEndsBetweenReplacements(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		var trips []*trip
		var peers []*peerConn
		for range 3 {
			trips = append(trips, s.get())
			peers = append(peers, s.wantDial().finish())
		}
		for i, tp := range trips {
			peers[i].serve("ok")
			tp.wantHead()
		}
		for i, tp := range trips {
			tp.wantBody("ok")
			peers[i].client.FailWriteAfter(0, syscall.EPIPE)
		}
		tp := s.get() // it has met two stale connections, and waits before it takes the third
		tp.cancel()
		tp.wantError(PhaseUnsent, context.Canceled)
	})
}
