package retry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A breaker is a circuit breaker around a client: it counts how calls end.
type breaker struct {
	next     http.RoundTripper
	ok, fail int
}

func (b *breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		b.fail++
	} else {
		b.ok++
	}
	return resp, err
}

// event is the line that a service logs for a call.
func event(t *testing.T, res result) map[string]any {
	t.Helper()
	var line bytes.Buffer
	slog.New(slog.NewJSONHandler(&line, nil)).Info("call", "", &res.report)
	var fields map[string]any
	if err := json.Unmarshal(line.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// TestB8_OneEvent: a call that was retried says so on its own event, whether that was absorbed
// or not; any other carries neither field. A breaker outside sees one end of a call.
func TestB8_OneEvent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		way     way
		verb    string
		lost    int // attempts that fail
		retries int
		fails   bool
	}{
		{"at once", sentWays[0], "POST", 0, 0, false},
		{"absorbed", sentWays[0], "GET", 1, 1, false},
		{"absorbed twice", sentWays[2], "HEAD", 2, 2, false},
		{"never sent, absorbed", unsentWays[0], "POST", 2, 2, false},
		{"not allowed", sentWays[0], "POST", 1, 0, true},
		{"out of retries", sentWays[0], "GET", 3, 2, true},
		{"never sent, out of retries", unsentWays[9], "DELETE", 3, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, r := tt.way.start(t, quick(retry.Default()), tt.lost)
			outside := &breaker{next: r.retry}
			r.Client.Transport = outside
			res := r.do(tt.verb, o.url(), nil)
			if (res.err != nil) != tt.fails {
				t.Errorf("got %v, fails: %v", res.err, tt.fails)
			}
			if got, want := [2]int{outside.ok, outside.fail}, (map[bool][2]int{false: {1, 0}, true: {0, 1}})[tt.fails]; got != want {
				t.Errorf("a breaker saw %v successes and failures, want %v", got, want)
			}
			r.wantRetries(res, tt.retries)
			wantAttempts(t, res, tt.retries)
			fields := event(t, res)
			n, has := fields["retries"]
			list, lists := fields["retry_errors"].([]any)
			if has != (tt.retries > 0) || lists != has || has && (n != float64(tt.retries) || len(list) != tt.retries) {
				t.Errorf("the event is %v, want %d retries", fields, tt.retries)
			}
		})
	}
}

// wantAttempts checks that all attempts are reported, and the error is one of the retry layer's, if
// there was a retry, and otherwise nothing is.
func wantAttempts(t *testing.T, res result, retries int) {
	t.Helper()
	want := 0
	if retries > 0 {
		want = retries + 1
	}
	if n := len(res.report.Attempts); n != want {
		t.Errorf("%d attempts are reported, want %d", n, want)
	}
	e, ok := errors.AsType[*retry.Error](res.err)
	if ok != (res.err != nil && retries > 0) || ok && len(e.Report.Attempts) != want {
		t.Errorf("%v is a *retry.Error: %v", res.err, ok)
	}
}

// TestB8_OneCallOneReport: the next call of the same caller doesn't carry the last one's.
func TestB8_OneCallOneReport(t *testing.T) {
	o := newOrigin(t, true, []string{serve, cutFIN})
	r := newRig(t, quick(retry.Default()), nil, nil)
	for i, retries := range []int{0, 1, 0} {
		res := r.do("GET", o.url(), nil)
		r.wantOK(res, retries)
		if _, has := event(t, res)["retries"]; has != (retries > 0) {
			t.Errorf("call %d: %v", i, event(t, res))
		}
	}
}

// TestB9_OneErrorType: whatever a call fails of, and on whichever path, it's a *pool.Error, in
// what the retry layer and http.Client put around it.
func TestB9_OneErrorType(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	veto := errors.New("the signature has expired")
	for _, w := range append(slices.Concat(unsentWays, sentWays),
		way{name: "half of the upload", act: half},
		way{name: "no more capacity", act: never, change: func(_ *rig, cfg *pool.Config) { cfg.MaxConnsPerHost, cfg.MaxWait = 1, limit/10 }},
		way{name: "a hook's veto", change: func(_ *rig, cfg *pool.Config) {
			cfg.BeforeSend = func(*http.Request) error { return veto }
		}, is: veto},
		way{name: "cancelled", is: context.Canceled},
		way{name: "closed", is: pool.ErrClosed},
		way{name: "a body that fails", is: io.ErrNoProgress},
		way{name: "a dial hook's own error", change: func(_ *rig, cfg *pool.Config) {
			cfg.Dialer = nil
			cfg.Base.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("odd") }
		}},
	) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			o, r := w.start(t, quick(retry.Default()), 3)
			req := r.request("POST", o.url(), payloads()[3])
			switch w.name {
			case "cancelled":
				req = req.WithContext(ctx)
			case "closed":
				r.pool.Close()
			case "a body that fails":
				req.Body, req.GetBody = io.NopCloser(io.MultiReader(strings.NewReader("x"), errReader{io.ErrNoProgress})), nil
			case "no more capacity":
				busy := make(chan struct{})
				held, letGo := context.WithCancel(t.Context())
				go func() { defer close(busy); r.send(r.request("POST", o.url(), payloads()[1]).WithContext(held)) }()
				defer func() { letGo(); <-busy }()
				waitFor(t, func() bool { return len(o.requests()) == 1 })
			}
			res := r.send(req)
			if _, ok := errors.AsType[*pool.Error](res.err); !ok {
				t.Errorf("%#v (%v) has no *pool.Error", res.err, res.err)
			}
			if w.is != nil && !errors.Is(res.err, w.is) {
				t.Errorf("%v isn't in the chain of %v", w.is, res.err)
			}
			wantAttempts(t, res, res.report.Retries)
		})
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// TestB9_BodiesToo: what goes wrong while the answer's body is read has the same type.
func TestB9_BodiesToo(t *testing.T) {
	o := newOrigin(t, true, []string{cutBody})
	r := newRig(t, quick(retry.Default()), nil, nil)
	res := r.do("GET", o.url(), nil)
	e, ok := errors.AsType[*pool.Error](res.err)
	if !ok || e.Phase != pool.PhaseResponse || !errors.Is(res.err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want a *pool.Error of phase response with io.ErrUnexpectedEOF", res.err)
	}
	r.wantRetries(res, 0) // the answer was the caller's by then
	o.wantSeen(seen{method: "GET"})
}

// TestB10_ContextIsKept: each attempt has the values of the caller's context, and tells the
// caller's trace; the answer's request is the caller's.
func TestB10_ContextIsKept(t *testing.T) {
	type key struct{}
	for _, top := range []bool{false, true} {
		o := newOrigin(t, true, []string{cutFIN}, []string{hsRST})
		var values []any
		r := newRig(t, quick(retry.Default()), nil, func(_ *rig, cfg *pool.Config) {
			cfg.BeforeSend = func(req *http.Request) error {
				values = append(values, req.Context().Value(key{}))
				return nil
			}
		})
		var dials, handshakes, gots, wrote, first int
		ctx := httptrace.WithClientTrace(context.WithValue(t.Context(), key{}, "the caller's"), &httptrace.ClientTrace{
			ConnectDone:          func(string, string, error) { dials++ },
			TLSHandshakeStart:    func() { handshakes++ },
			GotConn:              func(httptrace.GotConnInfo) { gots++ },
			WroteRequest:         func(httptrace.WroteRequestInfo) { wrote++ },
			GotFirstResponseByte: func() { first++ },
		})
		req, err := http.NewRequestWithContext(ctx, "GET", o.url(), nil)
		if err != nil {
			t.Fatal(err)
		}
		do := r.retry.RoundTrip
		if top {
			do = r.Do
		}
		resp, err := do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if !slices.Equal(values, []any{"the caller's", "the caller's"}) {
			t.Errorf("the attempts' values are %v", values)
		}
		if dials != 3 || handshakes != 3 || gots != 2 || wrote != 2 || first != 1 {
			t.Errorf("the trace was told of %d dials, %d handshakes, %d connections, %d requests, %d answers; want 3, 3, 2, 2, 1", dials, handshakes, gots, wrote, first)
		}
		if got := resp.Request; got.Context().Value(key{}) != "the caller's" || httptrace.ContextClientTrace(got.Context()) == nil || got.URL != req.URL {
			t.Errorf("the answer's request is %+v", got)
		}
	}
}
