package pool

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// The hooks of one request are called in the order in which they were said, after the
// transport's, with the request itself, and what they set arrives.
func TestBeforeSendOfOneRequest(t *testing.T) {
	var calls []string
	hook := func(name string) func(*http.Request) error {
		return func(r *http.Request) error {
			calls = append(calls, name)
			r.Header.Set("X-Signed", r.Header.Get("X-Signed")+name)
			return nil
		}
	}
	inBubble(t, Config{BeforeSend: hook("a")}, func(s *script) {
		ctx := WithBeforeSend(WithBeforeSend(WithBeforeSend(s.Context(), hook("b")), nil), hook("c"))
		tp := s.getIn(ctx)
		d := s.wantDial()
		if len(calls) != 0 {
			t.Errorf("%v were called before there was a connection", calls)
		}
		p := d.finish()
		req, _ := p.wantRequest()
		if got := req.Header.Get("X-Signed"); got != "abc" || !slices.Equal(calls, []string{"a", "b", "c"}) {
			t.Errorf("the header says %q, calls %v", got, calls)
		}
		p.answer("ok")
		tp.wantBody("ok")

		calls = nil
		s.wantReused(p)
		if !slices.Equal(calls, []string{"a"}) {
			t.Errorf("without a hook of its own: %v", calls)
		}
	})
}

// It is given the request that RoundTrip was given, also when its body is streamed, and is called
// again for another connection.
func TestBeforeSendIsCalledForEachConnection(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		stale := s.exchange()
		stale.client.FailWriteAfter(0, syscall.EPIPE)
		calls := 0
		var given *http.Request
		req := s.request("POST", &countedBody{Reader: strings.NewReader("payload")})
		req = req.WithContext(WithBeforeSend(s.Context(), func(r *http.Request) error {
			calls++
			r.Header.Set("X-Call", fmt.Sprint(calls))
			given = r
			return nil
		}))
		done := make(chan error, 1)
		go func() {
			resp, err := s.tr.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			done <- err
		}()
		p := s.wantDial().finish()
		got, body := p.wantRequest()
		p.answer("")
		if err := <-done; err != nil || got.Header.Get("X-Call") != "2" || calls != 2 || body != "payload" || given != req {
			t.Errorf("%v; it arrived as of call %q of %d with body %q", err, got.Header.Get("X-Call"), calls, body)
		}
	})
}

func TestBeforeSendOfOneRequestVetoes(t *testing.T) {
	expired := errors.New("signature expired")
	bothBubbles(t, func() Config { return Config{} }, func(s *script, peer func(*scriptDial) asker) {
		first := s.get()
		a := peer(s.wantDial())
		a.take()
		a.begin()
		a.send(10)
		first.wantBody("xxxxxxxxxx")

		after := false
		ctx := WithBeforeSend(s.Context(), func(*http.Request) error { return expired })
		ctx = WithBeforeSend(ctx, func(*http.Request) error { after = true; return nil })
		body := &countedBody{Reader: strings.NewReader("payload")}
		tp := s.start(s.request("POST", body).WithContext(ctx))
		e := tp.wantError(PhaseUnsent, expired)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerHook || !e.Unprocessed() || e.Timeout() {
			t.Errorf("%v isn't the hook's", e)
		}
		if body.reads != 0 || body.closes != 1 || after {
			t.Errorf("body %d reads, %d closes, want 0 and 1; the next hook was called: %v", body.reads, body.closes, after)
		}
		again := s.get()
		s.wantNoDial()
		a.take()
		a.begin()
		a.send(10)
		again.wantBody("xxxxxxxxxx")
	})
}

// What a hook sets is looked at as what the caller had set, and no value is repeated.
func TestBeforeSendSetsNoInvalidField(t *testing.T) {
	set := func(r *http.Request) error { r.Header["Authorization"] = []string{"secret\r\nInjected: 1"}; return nil }
	for _, global := range []bool{true, false} {
		cfg, armed := Config{}, false
		if global {
			cfg.BeforeSend = func(r *http.Request) error {
				if armed {
					return set(r)
				}
				return nil
			}
		}
		inBubble(t, cfg, func(s *script) {
			p := s.exchange()
			armed = true
			ctx := s.Context()
			if !global {
				ctx = WithBeforeSend(ctx, set)
			}
			e := s.getIn(ctx).wantError(PhaseUnsent, nil)
			if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerHook || strings.Contains(e.Error(), "secret") {
				t.Errorf("the error is %v", e)
			}
			armed = false
			s.wantReused(p)
		})
	}
}

// A hook's panic, and its runtime.Goexit, leave no body open and no connection held. One that was
// being used by then is closed.
func TestPanicInAHookClosesTheBody(t *testing.T) {
	for _, tt := range []struct {
		hook  string
		keeps bool // the connection is as it was
	}{{"BeforeSend", true}, {"WithBeforeSend", true}, {"GotConn", true}, {"GetConn", true}, {"WroteHeaders", false}, {"GotFirstResponseByte", false}} {
		for way, end := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
			t.Run(tt.hook+"/"+way, func(t *testing.T) {
				armed := ""
				ends := func(name string) {
					if armed == name {
						end()
					}
				}
				cfg := func() Config {
					return Config{MaxConnsPerHost: 1, BeforeSend: func(*http.Request) error { ends("BeforeSend"); return nil }}
				}
				bothBubbles(t, cfg, func(s *script, peer func(*scriptDial) asker) {
					armed = ""
					first := s.get()
					a := peer(s.wantDial())
					a.take()
					a.begin()
					a.send(10)
					first.wantBody("xxxxxxxxxx")

					ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{
						GetConn:              func(string) { ends("GetConn") },
						GotConn:              func(httptrace.GotConnInfo) { ends("GotConn") },
						WroteHeaders:         func() { ends("WroteHeaders") },
						GotFirstResponseByte: func() { ends("GotFirstResponseByte") },
					})
					ctx = WithBeforeSend(ctx, func(*http.Request) error { ends("WithBeforeSend"); return nil })
					closed := make(chan struct{})
					body := &onceClosed{Reader: strings.NewReader("payload"), t: t, closed: closed}
					armed = tt.hook
					over := make(chan struct{})
					go func() {
						defer func() { recover(); close(over) }()
						s.tr.RoundTrip(s.request("POST", body).WithContext(ctx))
						t.Error("RoundTrip has returned")
					}()
					synctest.Wait()
					if tt.hook == "GotFirstResponseByte" {
						a.take()
						a.begin()
					}
					<-over
					synctest.Wait()
					select {
					case <-closed:
					default:
						t.Error("the body is open")
					}
					armed = ""
					if st := s.stats(); st.InUse != 0 || tt.keeps && st.Idle != 1 {
						t.Errorf("%d in use, %d idle", st.InUse, st.Idle)
					}
				})
			})
		}
	}
}

// An onceClosed is a body that says when it is closed, and that it was a second time.
type onceClosed struct {
	io.Reader
	t      *testing.T
	closed chan struct{}
}

func (b *onceClosed) Close() error {
	select {
	case <-b.closed:
		b.t.Error("closed twice")
	default:
		close(b.closed)
	}
	return nil
}
