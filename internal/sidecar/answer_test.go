package sidecar

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

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
