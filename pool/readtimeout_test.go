package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const day = 24 * time.Hour

// readLimits are what is configured and what the request says, and what is in force of it.
var readLimits = map[string]struct {
	configured time.Duration
	said       []time.Duration
	want       time.Duration // zero: none
}{
	"nothing said":        {time.Second, nil, time.Second},
	"longer":              {time.Second, []time.Duration{time.Minute}, time.Minute},
	"shorter":             {time.Second, []time.Duration{time.Millisecond}, time.Millisecond},
	"where none is":       {0, []time.Duration{time.Second}, time.Second},
	"none":                {time.Second, []time.Duration{-1}, 0},
	"none where none is":  {0, []time.Duration{-1}, 0},
	"the last one counts": {0, []time.Duration{time.Second, time.Minute}, time.Minute},
	"as configured again": {time.Second, []time.Duration{time.Minute, 0}, time.Second},
}

func saying(ctx context.Context, said []time.Duration) context.Context {
	for _, d := range said {
		ctx = WithReadTimeout(ctx, d)
	}
	return ctx
}

// bothBubbles runs f over HTTP/1.1 and over HTTP/2. peer lets a dial end, and returns how its
// peer takes the next request, begins an answer and ends it.
func bothBubbles(t *testing.T, cfg func() Config, f func(s *script, peer func(*scriptDial) asker)) {
	t.Helper()
	t.Run("HTTP/1.1", func(t *testing.T) {
		inBubble(t, cfg(), func(s *script) { f(s, func(d *scriptDial) asker { return askerH1{d.finish()} }) })
	})
	t.Run("HTTP/2", func(t *testing.T) {
		h2Bubble(t, cfg(), func(s *script) {
			f(s, func(d *scriptDial) asker { return &askerH2{p: d.serveH2(100)} })
		})
	})
}

// An asker is a peer of either protocol, for one request at a time.
type asker interface {
	take()    // the next request
	interim() // begins an answer
	begin()   // sends its head, for a body of ten bytes
	send(n int)
}

type askerH1 struct{ p *peerConn }

func (a askerH1) take()      { a.p.s.Helper(); a.p.wantRequest() }
func (a askerH1) interim()   { io.WriteString(a.p, "HTTP/1.1 103 Early Hints\r\n\r\n") }
func (a askerH1) begin()     { io.WriteString(a.p, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n") }
func (a askerH1) send(n int) { io.WriteString(a.p, strings.Repeat("x", n)) }

type askerH2 struct {
	p      *h2Peer
	stream uint32
	sent   int
}

func (a *askerH2) take() { a.p.s.Helper(); a.stream, a.sent = a.p.wantRequest().Stream, 0 }

func (a *askerH2) interim() { a.p.c.Headers(a.stream, false, ":status", "103") }

func (a *askerH2) begin() {
	a.p.c.Headers(a.stream, false, ":status", "200", "content-length", "10")
}

func (a *askerH2) send(n int) {
	a.sent += n
	a.p.c.Data(a.stream, a.sent == 10, []byte(strings.Repeat("x", n)))
}

func TestReadTimeoutOfTheHead(t *testing.T) {
	for name, tt := range readLimits {
		t.Run(name, func(t *testing.T) {
			cfg := func() Config { return Config{Base: &http.Transport{ResponseHeaderTimeout: tt.configured}} }
			bothBubbles(t, cfg, func(s *script, peer func(*scriptDial) asker) {
				tp := s.getIn(saying(s.Context(), tt.said))
				a := peer(s.wantDial())
				a.take()
				sent := time.Now()
				if tt.want == 0 {
					time.Sleep(day)
					a.begin()
					a.send(10)
					tp.wantBody("xxxxxxxxxx")
					return
				}
				<-tp.done
				e := tp.wantError(PhaseSent, context.DeadlineExceeded)
				if took := time.Since(sent); took != tt.want || !e.Timeout() {
					t.Errorf("%v after %v, want %v", e, took, tt.want)
				}
			})
		})
	}
}

// Each Read has the limit anew.
func TestReadTimeoutOfTheBody(t *testing.T) {
	for name, tt := range readLimits {
		t.Run(name, func(t *testing.T) {
			cfg := func() Config { return Config{ReadStallTimeout: tt.configured} }
			bothBubbles(t, cfg, func(s *script, peer func(*scriptDial) asker) {
				tp := s.getIn(saying(s.Context(), tt.said))
				a := peer(s.wantDial())
				a.take()
				a.begin()
				tp.wantHead()
				for range 9 {
					time.AfterFunc(max(tt.want-1, 1), func() { a.send(1) })
					if n, err := tp.resp.Body.Read(make([]byte, 10)); n != 1 || err != nil {
						t.Fatalf("read %d bytes, %v", n, err)
					}
				}
				if tt.want == 0 {
					time.AfterFunc(day, func() { a.send(1) })
					tp.wantBody("x")
					return
				}
				since := time.Now()
				_, err := tp.resp.Body.Read(make([]byte, 10))
				e, ok := errors.AsType[*Error](err)
				if took := time.Since(since); took != tt.want || !ok || e.Phase != PhaseResponse || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v after %v, want a timeout after %v", err, took, tt.want)
				}
				tp.resp.Body.Close()
			})
		})
	}
}

// One stream's limit is no other's, and costs not the connection.
func TestReadTimeoutIsTheStreams(t *testing.T) {
	h2Bubble(t, Config{}, func(s *script) {
		p := s.silentH2(100)
		patient := s.get()
		held := p.wantRequest()
		s.getIn(WithReadTimeout(s.Context(), 10*time.Millisecond))
		p.wantRequest()
		time.Sleep(time.Second)
		patient.wantPending()
		p.answer(held)
		patient.wantOK()
		p.wantOpen()
	})
}

// The limit begins when the whole request is out: what waits for the peer's consent isn't yet.
func TestReadTimeoutBeginsBehindTheBody(t *testing.T) {
	const limit = 100 * time.Millisecond
	post := func(s *script) *trip {
		req := s.request("POST", strings.NewReader("payload")).WithContext(WithReadTimeout(s.Context(), limit))
		req.Header.Set("Expect", "100-continue")
		return s.start(req)
	}
	cfg := func() Config { return Config{Base: &http.Transport{ExpectContinueTimeout: time.Minute}} }
	over := func(t *testing.T, tp *trip, since time.Time) {
		t.Helper()
		<-tp.done
		e := tp.wantError(PhaseResponse, context.DeadlineExceeded) // 100 Continue was the beginning of an answer
		if took := time.Since(since); took != limit || !e.Timeout() {
			t.Errorf("%v after %v, want %v", e, took, limit)
		}
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		inBubble(t, cfg(), func(s *script) {
			tp := post(s)
			p := s.wantDial().finish()
			time.Sleep(time.Second)
			tp.wantPending()
			io.WriteString(p, "HTTP/1.1 100 Continue\r\n\r\n")
			synctest.Wait()
			over(t, tp, time.Now())
		})
	})
	t.Run("HTTP/2", func(t *testing.T) {
		h2Bubble(t, cfg(), func(s *script) {
			tp := post(s)
			p := s.wantDial().serveH2(100)
			q := p.wantHeaders()
			time.Sleep(time.Second)
			tp.wantPending()
			if err := p.c.Headers(q.StreamID, false, ":status", "100"); err != nil {
				t.Fatal(err)
			}
			p.wantData()
			over(t, tp, time.Now())
		})
	})
}

// Nothing is limited behind a switch of protocols.
func TestReadTimeoutEndsWithASwitch(t *testing.T) {
	inBubble(t, Config{ReadStallTimeout: time.Second}, func(s *script) {
		req := s.request("GET", nil).WithContext(WithReadTimeout(s.Context(), time.Millisecond))
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		tp := s.start(req)
		p := s.wantDial().finish()
		p.wantRequest()
		io.WriteString(p, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		tp.wantHead()
		time.AfterFunc(time.Hour, func() { io.WriteString(p, "hello") })
		b := make([]byte, 5)
		if _, err := io.ReadFull(tp.resp.Body, b); err != nil || string(b) != "hello" {
			t.Errorf("%q, %v", b, err)
		}
		tp.resp.Body.Close()
	})
}

func TestReadTimeoutIsTold(t *testing.T) {
	for _, tt := range []struct {
		said []time.Duration
		d    time.Duration
		ok   bool
	}{
		{nil, 0, false},
		{[]time.Duration{time.Second}, time.Second, true},
		{[]time.Duration{-1}, -1, true},
		{[]time.Duration{time.Second, 0}, 0, false},
	} {
		ctx := PreferFresh(saying(t.Context(), tt.said)) // one doesn't lose the other
		if d, ok := ReadTimeout(ctx); d != tt.d || ok != tt.ok {
			t.Errorf("after %v: %v, %v", tt.said, d, ok)
		}
		if optionsOf(ctx).fresh.IsZero() {
			t.Errorf("after %v: PreferFresh is lost", tt.said)
		}
	}
	for _, d := range []time.Duration{0, time.Second} {
		tr, err := New(Config{Base: &http.Transport{ResponseHeaderTimeout: d}})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		if got := tr.ReadTimeout(); got != d {
			t.Errorf("%v, want %v", got, d)
		}
	}
}
