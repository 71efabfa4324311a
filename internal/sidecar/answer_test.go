package sidecar

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestAnswersByPhase pins what a failure's facts become.
func TestAnswersByPhase(t *testing.T) {
	unprocessed := map[pool.Phase]bool{pool.PhaseWait: true, pool.PhaseDial: true, pool.PhaseUnsent: true, pool.PhaseRefused: true}
	for phase := pool.PhaseUnknown; phase <= pool.PhaseResponse; phase++ {
		for _, timeout := range []bool{false, true} {
			cause := io.EOF
			if timeout {
				cause = pool.ErrWaitTimeout // a timeout by its method
			}
			want := answer{status: http.StatusBadGateway, phase: phase.String(), unprocessed: unprocessed[phase]}
			if timeout {
				want.status = http.StatusGatewayTimeout
			}
			if want.unprocessed {
				want.status = http.StatusServiceUnavailable
			}
			if got := answerOf(&pool.Error{Phase: phase, Err: cause}); got != want {
				t.Errorf("phase %v, timeout %v: %+v, want %+v", phase, timeout, got, want)
			}
		}
	}
	// An attempt that may have been processed isn't forgotten because the last one could not connect.
	last := &pool.Error{Phase: pool.PhaseDial, Err: io.EOF}
	got := answerOf(&retry.Error{Err: last, Report: retry.Report{Retries: 1, Attempts: []retry.Attempt{
		{Phase: pool.PhaseSent, Evidence: retry.EvidenceMaybeSent}, {Phase: pool.PhaseDial, Evidence: retry.EvidenceNeverSent}}}})
	if want := (answer{status: http.StatusBadGateway, phase: "dial", retries: 1}); got != want {
		t.Errorf("sent, then dial: %+v, want %+v", got, want)
	}
	if got := answerOf(errors.New("no facts")); got != (answer{status: http.StatusBadGateway, phase: "unknown"}) {
		t.Errorf("an error without facts: %+v", got)
	}
}

// newPeer is an upstream with faults and an oracle.
func newPeer(t *testing.T, f peer.Faults) (*peer.Server, string) {
	t.Helper()
	s, err := peer.Start(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, "upstream=http://" + s.Addr()
}

// wantAnswer checks an answer of the sidecar's own.
func wantAnswer(t *testing.T, resp *http.Response, body string, want answer) {
	t.Helper()
	if resp.StatusCode != want.status {
		t.Errorf("status %d, want %d; body %q", resp.StatusCode, want.status, body)
	}
	wantField(t, resp.Header, fieldUnprocessed, fmt.Sprint(want.unprocessed))
	wantField(t, resp.Header, fieldPhase, want.phase)
	wantField(t, resp.Header, fieldRetries, fmt.Sprint(want.retries))
	after := ""
	if want.unprocessed && want.status == 503 {
		after = "1"
	}
	wantField(t, resp.Header, "Retry-After", after)
	wantField(t, resp.Header, "Cache-Control", "no-store")
	if !strings.HasPrefix(body, "connwise proxy: ") || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("body %q of type %q", body, resp.Header.Get("Content-Type"))
	}
}

func TestRefusedDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := start(t, "upstream=http://"+l.Addr().String(), "retry.interval=1ms")
	resp, body := r.do("POST", "/", strings.NewReader("x"))
	wantAnswer(t, resp, body, answer{503, true, "dial", 2})
	resp, body = r.do("POST", "/", unsized(strings.Repeat("x", 100<<10))) // it streams, and isn't touched
	wantAnswer(t, resp, body, answer{503, true, "dial", 2})
}

func TestWaitInVain(t *testing.T) {
	up, began, finish := slow(t)
	r := start(t, "upstream="+up, "pool.max_conns=1", "pool.max_wait=20ms", "forward.retry_after=1ms")
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.do("GET", "/slow", nil)
	}()
	<-began
	resp, body := r.do("POST", "/", strings.NewReader("x"))
	wantAnswer(t, resp, body, answer{503, true, "wait", 0})
	close(finish)
	<-done
}

// TestLostRequests cuts the upstream's connection at each point, and asks the oracle how often the request
// was executed.
func TestLostRequests(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		at           peer.CutPoint
		cuts         int
		field        string
		want         answer // retries alone: the answer is the upstream's
		executed     int
	}{
		{"a POST before", "POST", peer.CutBefore, 1, "", answer{502, false, "sent", 0}, 0},
		{"a POST after", "POST", peer.CutAfter, 1, "", answer{502, false, "sent", 0}, 1},
		{"a POST with a key", "POST", peer.CutAfter, 1, "Idempotency-Key", answer{retries: 1}, 2},
		{"a GET", "GET", peer.CutAfter, 1, "", answer{retries: 1}, 2},
		{"a GET each time", "GET", peer.CutAfter, 3, "", answer{502, false, "sent", 2}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, up := newPeer(t, peer.Faults{})
			s.SetCut(peer.Cut{At: tt.at, Next: tt.cuts})
			r := start(t, up, "retry.interval=1ms")
			var content io.Reader
			if tt.method == "POST" {
				content = strings.NewReader("x")
			}
			fields := []string{peer.HeaderID, "1"}
			if tt.field != "" {
				fields = append(fields, tt.field, "k")
			}
			resp, body := r.do(tt.method, "/", content, fields...)
			if tt.want.status != 0 {
				wantAnswer(t, resp, body, tt.want)
			} else {
				wantField(t, resp.Header, fieldRetries, fmt.Sprint(tt.want.retries))
				wantField(t, resp.Header, fieldUnprocessed, "")
			}
			s.Close()
			if n := s.Report().Executed.Count(1); n != tt.executed {
				t.Errorf("executed %d times, want %d", n, tt.executed)
			}
		})
	}
}

func TestTimeoutAfterSending(t *testing.T) {
	_, up := newPeer(t, peer.Faults{Delay: time.Hour})
	r := start(t, up, "pool.response_header_timeout=20ms")
	for _, method := range []string{"GET", "POST"} {
		resp, body := r.do(method, "/", nil)
		if method == "HEAD" {
			continue
		}
		wantAnswer(t, resp, body, answer{504, false, "sent", 0})
	}
}

// TestLostUnsent closes the idle connection behind the pool's back: what comes next is executed once.
func TestLostUnsent(t *testing.T) {
	s, up := newPeer(t, peer.Faults{})
	r := start(t, up)
	for id := 1; id <= 20; id++ {
		resp, body := r.do("POST", "/", unsized("x"), peer.HeaderID, fmt.Sprint(id))
		if resp.StatusCode != 200 {
			t.Fatalf("request %d: %s, %q", id, resp.Status, body)
		}
		s.Drop(peer.Drop{Style: peer.RST})
	}
	s.Close()
	rep := s.Report()
	for id := uint64(1); id <= 20; id++ {
		if n := rep.Executed.Count(id); n != 1 {
			t.Errorf("request %d was executed %d times", id, n)
		}
	}
}

// TestRefusedAfterReading has a server that refuses a request when its body is there. What was kept of
// it goes again; what has streamed can't.
func TestRefusedAfterReading(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("kept ", kept), func(t *testing.T) {
			s, err := peer.StartH2(peer.H2Options{KeepBody: 100, Handler: func(c *peer.H2Conn) {
				_ = c.Settings()
				for n := 0; ; n++ {
					q, err := c.Request()
					if err != nil {
						return
					}
					if n == 0 {
						_ = c.Reset(q.Stream, 7) // REFUSED_STREAM
						continue
					}
					_ = c.Answer(q)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			flags := []string{"upstream=http://" + s.Addr(), "pool.protocols=h2c", "retry.interval=1ms"}
			if !kept {
				flags = append(flags, "replay.body=none")
			}
			r := start(t, flags...)
			resp, body := r.do("POST", "/", unsized("body"), peer.HeaderID, "1")
			executed := 0
			if kept {
				executed = 1
				if resp.StatusCode != 200 {
					t.Errorf("status %s", resp.Status)
				}
				wantField(t, resp.Header, fieldRetries, "1")
			} else {
				wantAnswer(t, resp, body, answer{503, true, "refused", 0})
			}
			s.Close()
			if n := s.Report().Executed.Count(1); n != executed {
				t.Errorf("executed %d times, want %d", n, executed)
			}
		})
	}
}

// TestBrokenAnswerIsNoEnd has the upstream's connection end in the middle of an answer. So must
// the client's.
func TestBrokenAnswerIsNoEnd(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "10")
		}
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/sized", "/chunked"} {
		for _, h2 := range []bool{false, true} {
			client := newClient(t)
			if h2 {
				client.Transport.(*http.Transport).Protocols = onlyH2C()
			}
			resp, err := client.Get(r.url + path)
			if err != nil {
				continue // the head was still in the buffer
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.HasPrefix("half", string(b)) || err == nil {
				t.Errorf("%s, HTTP/2 %v: body %q ended with error %v", path, h2, b, err)
			}
		}
	}
	if n := r.p.Counters().BrokenOff; n != 4 || strings.Count(r.log.String(), "answer broke off") != 4 {
		t.Errorf("%d answers count as broken off", n)
	}
}

func onlyH2C() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// TestClientLeaves closes the client's connection in mid-upload: the upstream never has a whole
// request, and nothing is left of it.
func TestClientLeaves(t *testing.T) {
	for _, tt := range []struct{ name, head, log string }{
		{"a body that is kept", "Content-Length: 1000", "client left"},
		{"a body that streams", "Content-Length: 1000000", "client left"},
		{"chunks", "Transfer-Encoding: chunked", "client left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, up := newPeer(t, peer.Faults{})
			r := start(t, up)
			c, err := net.Dial("tcp", r.addr.String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\n%s\r\n%s: 1\r\n\r\n5\r\nhello\r\n", tt.head, peer.HeaderID)
			c.Close()
			r.log.wait(t, tt.log)
			if err := r.p.idle(t.Context()); err != nil {
				t.Error(err)
			}
			if n := r.p.replay.used.Load(); n != 0 {
				t.Errorf("%d bytes of replay memory are taken", n)
			}
			s.Close()
			if n := s.Report().Executed.Count(1); n != 0 {
				t.Errorf("executed %d times", n)
			}
		})
	}
}

// TestClientLeavesWhileItWaits ends the request to the upstream too.
func TestClientLeavesWhileItWaits(t *testing.T) {
	began, gone := make(chan struct{}), make(chan struct{})
	up := origin(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // its end has the server watch the connection
		close(began)
		<-r.Context().Done()
		close(gone)
	})
	r := start(t, "upstream="+up.URL)
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
	<-began
	c.Close()
	<-gone
	r.log.wait(t, "client left")
}

// TestBadRequests are answered with 400 and reach nobody.
func TestBadRequests(t *testing.T) {
	s, up := newPeer(t, peer.Faults{})
	r := start(t, up)
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	wantAnswer(t, resp, string(b), answer{400, true, "request", 0})
	if n := s.Count().Accepted; n != 0 {
		t.Errorf("the upstream has %d connections", n)
	}
	resp, _ = r.do("CONNECT", "/", nil)
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("CONNECT: %s", resp.Status)
	}
}
