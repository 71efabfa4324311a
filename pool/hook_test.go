package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Connections of dial hooks are no sockets that can be looked at (here they are in
// memory). What comes on one while it is idle is found nevertheless.
func TestHooksConnectionsAreWatched(t *testing.T) {
	for name, tt := range map[string]struct {
		ruin   func(*peerConn)
		reason CloseReason
	}{
		"surplus": {func(p *peerConn) { io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen") }, ReasonUnsolicited},
		"a FIN":   {func(p *peerConn) { p.CloseWrite() }, ReasonPeerClosed},
		"an RST":  {func(p *peerConn) { p.Reset() }, ReasonPeerClosed},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				p := s.exchange()
				tt.ruin(p)
				p.wantClosed()
				if st := s.stats(); st.Idle != 0 || st.ClosedBy[tt.reason] != 1 {
					t.Errorf("%d idle, closed by %v, want one by %q", st.Idle, st.ClosedBy, tt.reason)
				}
				s.wantRenewed()
			})
		})
	}
}

// A TLS layer of a hook's may have decrypted more than the answer that it was asked for.
func TestHooksTLSLayerHidesNoSurplus(t *testing.T) {
	const size = 10_000 // the body is read past any buffer
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nc, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		head := "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"
		io.WriteString(nc, head+strings.Repeat("a", size)+"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen")
		io.Copy(io.Discard, nc) // until the client closes
	}))
	defer srv.Close()
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"}}
	tr, err := New(Config{Base: &http.Transport{DialTLSContext: dialer.DialContext}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for range 3 {
		req, _ := http.NewRequest("GET", srv.URL, nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.TLS == nil || !resp.TLS.HandshakeComplete {
			t.Error("the answer doesn't tell of TLS")
		}
		b := make([]byte, 2*size) // so that it is read in one piece
		n, err := io.ReadFull(resp.Body, b)
		if n != size || err != io.ErrUnexpectedEOF {
			t.Fatalf("read %d bytes of body, %v: %.20q", n, err, b)
		}
		resp.Body.Close()
	}
}

// A hook, the transport's or the request's own, may take its time. What has become of the
// connection meanwhile is looked at again before the first byte.
func TestConnectionThatDiesWhileAHookRuns(t *testing.T) {
	for name, ruin := range map[string]func(*peerConn){
		"closed":  func(p *peerConn) { p.CloseWrite() },
		"too old": func(*peerConn) { time.Sleep(time.Second) },
	} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/own %v", name, own), func(t *testing.T) {
				var p *peerConn
				hook := func(r *http.Request) error {
					if p != nil && r.Method == "POST" {
						ruin(p)
						p = nil
						time.Sleep(time.Millisecond) // what was sent has arrived
					}
					return nil
				}
				cfg := Config{ProxyIdleTimeout: time.Second}
				if !own {
					cfg.BeforeSend = hook
				}
				inBubble(t, cfg, func(s *script) {
					p = s.exchange()
					req := s.request("POST", strings.NewReader("x"))
					if own {
						req = req.WithContext(WithBeforeSend(s.Context(), hook))
					}
					tp := s.start(req)
					time.Sleep(time.Second + time.Millisecond)
					s.wantDial().finish().serve("ok")
					tp.wantBody("ok")
				})
			})
		}
	}
}

func TestContextThatEndsInAHookCostsNoConnection(t *testing.T) {
	var cancel func()
	cfg := Config{BeforeSend: func(*http.Request) error {
		if cancel != nil {
			cancel()
		}
		return nil
	}}
	inBubble(t, cfg, func(s *script) {
		p := s.exchange()
		ctx, c := context.WithCancel(context.Background())
		cancel = c
		s.start(s.request("GET", nil).WithContext(ctx)).wantError(PhaseUnsent, context.Canceled)
		cancel = nil
		s.wantReused(p)
	})
}

func TestPanicInAHookGivesTheSlotBack(t *testing.T) {
	for _, hook := range []string{"BeforeSend", "GotConn", "WroteRequest"} {
		t.Run(hook, func(t *testing.T) {
			armed := ""
			panics := func(name string) {
				if armed == name {
					panic(name)
				}
			}
			cfg := Config{MaxConnsPerHost: 1, BeforeSend: func(*http.Request) error { panics("BeforeSend"); return nil }}
			inBubble(t, cfg, func(s *script) {
				ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{
					GotConn:      func(httptrace.GotConnInfo) { panics("GotConn") },
					WroteRequest: func(httptrace.WroteRequestInfo) { panics("WroteRequest") },
				})
				armed = hook
				over := make(chan any)
				go func() {
					defer func() { over <- recover() }()
					s.tr.RoundTrip(s.request("GET", nil).WithContext(ctx))
				}()
				s.wantDial().finish()
				if got := <-over; got != hook {
					t.Fatalf("recovered %v", got)
				}
				armed = ""
				if st := s.stats(); st.InUse != 0 {
					t.Errorf("%d in use", st.InUse)
				}
			})
		})
	}
}

// A hook that doesn't return can't keep a cancelled request.
func TestHookThatHangsHoldsNoCancelledRequest(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		release := make(chan struct{})
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{ConnectStart: func(string, string) { <-release }})
		tp := s.start(s.request("GET", nil).WithContext(ctx))
		d := s.wantDial()
		go httptrace.ContextClientTrace(d.ctx).ConnectStart("tcp", "a")
		synctest.Wait()
		start := time.Now()
		tp.cancel()
		<-tp.done
		if took := time.Since(start); took > hookTime {
			t.Errorf("it took %v", took)
		}
		close(release)
		d.fail(io.EOF)
	})
}

// One connection's Close may take long; others' ends are noticed meanwhile.
func TestSlowCloseStallsNobody(t *testing.T) {
	closing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	served := make(chan net.Conn, 2)
	go func() {
		for range 2 {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			nc.Read(make([]byte, 4096))
			io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			served <- nc
		}
	}()
	transport := func(slow bool) *Transport {
		tr, err := New(Config{Base: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			if slow && err == nil {
				nc = slowCloser{nc.(*net.TCPConn), func() {
					once.Do(func() { close(closing) })
					<-release
				}}
			}
			return nc, err
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	slow, quick := transport(true), transport(false)
	url := "http://" + ln.Addr().String() + "/"
	roundTrip(t, slow, url)
	a := <-served
	roundTrip(t, quick, url)
	b := <-served
	a.Close()
	<-closing // its Close has begun and hangs
	b.Close()
	h := quick.allHosts()[0]
	for deadline := time.Now().Add(10 * time.Second); ; {
		h.mu.Lock()
		open := len(h.conns)
		h.mu.Unlock()
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Error("the other connection's end isn't noticed")
			break
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
	close(release)
	slow.Close()
	quick.Close()
}

type slowCloser struct {
	*net.TCPConn
	before func()
}

func (c slowCloser) Close() error {
	c.before()
	return c.TCPConn.Close()
}

// A connection that was idle but never used is as stale as a used one.
func TestUnusedIdleConnectionIsReplaced(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get()
		d := s.wantDial()
		tp.cancel()
		tp.wantError(PhaseDial, context.Canceled)
		d.finish().client.FailWriteAfter(0, syscall.EPIPE)
		tp = s.get()
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
	})
}

// The host may be forgotten, as with a crawler's many, between a request's connections.
func TestHostForgottenInMidRequest(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		p := s.exchange()
		p.client.FailWriteAfter(0, syscall.EPIPE)
		taken := 0
		ctx := httptrace.WithClientTrace(s.Context(), &httptrace.ClientTrace{GetConn: func(string) {
			if taken++; taken == 2 {
				for _, h := range s.tr.allHosts() {
					s.tr.forget(h, time.Now(), 0)
				}
			}
		}})
		tp := s.start(s.request("POST", strings.NewReader("x")).WithContext(ctx))
		s.wantDial().finish().serve("ok")
		tp.wantBody("ok")
	})
}

// The body of a request whose connection was replaced is sent whole, also if the answer
// comes before it is.
func TestReplacedUploadSurvivesAnEarlyAnswer(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		s.exchange().client.FailWriteAfter(0, syscall.EPIPE)
		pr, pw := io.Pipe()
		tp := s.start(s.request("POST", pr))
		p := s.wantDial().finish()
		io.WriteString(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
		tp.wantHead()
		if _, err := io.WriteString(pw, "late"); err != nil {
			t.Errorf("the body was closed while it was sent: %v", err)
		}
		pw.Close()
		if _, body := p.wantRequest(); body != "late" {
			t.Errorf("the peer got %q", body)
		}
		io.WriteString(p, "0\r\n\r\n")
		tp.wantBody("ok")
	})
}

// A body whose Close waits for its Read, as one with a lock of its own does, holds up
// nobody who has cancelled.
func TestCancelWithABodyThatCannotBeClosed(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		body := &lockedBody{make(chan struct{}, 1), make(chan struct{})}
		tp := s.start(s.request("POST", body))
		s.wantDial().finish()
		start := time.Now()
		tp.cancel()
		<-tp.done
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
		tp.wantError(PhaseSending, context.Canceled)
		close(body.more)
	})
}

// A lockedBody's Close waits for its Read. (Its lock is a channel: a bubble's time stands
// still while somebody waits for a Mutex.)
type lockedBody struct{ lock, more chan struct{} }

func (b *lockedBody) Read([]byte) (int, error) {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	<-b.more
	return 0, io.EOF
}

func (b *lockedBody) Close() error {
	b.lock <- struct{}{}
	<-b.lock
	return nil
}

// A request that can't be written costs no connection.
func TestRequestThatCannotBeWritten(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		p := s.exchange()
		req := s.request("POST", nil)
		req.ContentLength = 5
		e := s.start(req).wantError(PhaseUnsent, nil)
		if c, ok := errors.AsType[*CallerError](e); !ok || c.Source != CallerRequest {
			t.Errorf("%v isn't the request's", e)
		}
		s.wantReused(p)
	})
}

// A hook may outlast what a connection may grow to. One that is granted is the request's.
func TestHookThatOutlastsTheAge(t *testing.T) {
	cfg := Config{ProxyIdleTimeout: time.Second, MaxConnAge: time.Second, Jitter: func() float64 { return 0 },
		BeforeSend: func(*http.Request) error { time.Sleep(5 * time.Second); return nil }}
	inBubble(t, cfg, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		time.Sleep(5 * time.Second)
		p.serve("ok")
		tp.wantBody("ok")
	})
}

// The end of a hook's connection may come before it is idle again.
func TestCloseBehindTheAnswerIsNoticed(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		p.serve("ok")
		p.CloseWrite()
		tp.wantBody("ok")
		p.wantClosed()
		if st := s.stats(); st.Open != 0 {
			t.Errorf("%d open", st.Open)
		}
	})
}

type closeCounter struct {
	net.Conn
	closes atomic.Int32
}

func (c *closeCounter) Close() error {
	c.closes.Add(1)
	return c.Conn.Close()
}

func TestHooksConnectionIsClosedOnce(t *testing.T) {
	for name, end := range map[string]func(*script, *trip, *peerConn){
		"cancelled": func(s *script, tp *trip, p *peerConn) {
			p.wantRequest()
			tp.cancel()
			tp.wantError(PhaseSent, context.Canceled)
		},
		"reset": func(s *script, tp *trip, p *peerConn) {
			p.wantRequest()
			p.Reset()
			tp.wantError(PhaseSent, syscall.ECONNRESET)
		},
		"idle": func(s *script, tp *trip, p *peerConn) { p.serve("ok"); tp.wantBody("ok"); s.tr.CloseIdleConnections() },
		"Close": func(s *script, tp *trip, p *peerConn) {
			p.wantRequest()
			s.tr.Close()
			tp.wantError(PhaseSent, ErrClosed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(s *script) {
				tp := s.get()
				d := s.wantDial()
				c := &closeCounter{Conn: d.conn}
				d.conn = c
				end(s, tp, d.finish())
				synctest.Wait()
				if n := c.closes.Load(); n != 1 {
					t.Errorf("closed %d times", n)
				}
			})
		})
	}
}

func TestVetoKeepsNoConnectionWithoutKeepAlives(t *testing.T) {
	cfg := Config{Base: &http.Transport{DisableKeepAlives: true}, BeforeSend: func(*http.Request) error { return io.EOF }}
	inBubble(t, cfg, func(s *script) {
		tp := s.get()
		p := s.wantDial().finish()
		tp.wantError(PhaseUnsent, io.EOF)
		p.wantClosed()
	})
}

// A body of unknown length that turns out empty later than it is waited for is sent as
// an empty body: its head has promised one.
func TestBodyThatIsFoundEmptyLate(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		pr, pw := io.Pipe()
		tp := s.start(s.request("DELETE", pr))
		p := s.wantDial().finish()
		time.Sleep(time.Second)
		pw.Close()
		synctest.Wait()
		if req, body := p.wantRequest(); body != "" || len(req.TransferEncoding) == 0 {
			t.Errorf("got %q, %v", body, req.TransferEncoding)
		}
		p.answer("ok")
		tp.wantBody("ok")
	})
}

// A connection may outlive by hours the request for which it was dialled, and must not
// keep its context alive.
func TestConnectionKeepsNoContext(t *testing.T) {
	url := answerer(t)
	tr, err := New(Config{Base: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	gone := make(chan struct{})
	func() {
		type key struct{}
		value := new([1 << 10]byte)
		runtime.AddCleanup(value, func(struct{}) { close(gone) }, struct{}{})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, value))
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}()
	if st := tr.Stats().Hosts[0]; st.Idle != 1 {
		t.Fatalf("%d idle, want the connection", st.Idle)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the request's context is still alive")
		}
	}
}
