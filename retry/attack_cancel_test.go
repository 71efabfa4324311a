package retry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A tardy base takes a second for each attempt, or until its context ends.
type tardy struct {
	end func() (*http.Response, error)
}

func (b tardy) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	select {
	case <-time.After(time.Second):
		return b.end()
	case <-req.Context().Done():
		return nil, &pool.Error{Phase: pool.PhaseSent, Err: context.Cause(req.Context())}
	}
}

// A hanging body gives nothing until it is closed.
type hanging struct{ closed chan struct{} }

func (b hanging) Read([]byte) (int, error) { <-b.closed; return 0, io.EOF }
func (b hanging) Close() error             { close(b.closed); return nil }

var attemptEnds = map[string]func() (*http.Response, error){
	"unsent": func() (*http.Response, error) { return nil, &pool.Error{Phase: pool.PhaseUnsent, Err: io.EOF} },
	"503": func() (*http.Response, error) {
		h := http.Header{"Retry-After": {"1"}}
		return &http.Response{StatusCode: 503, Header: h, ContentLength: 10, Body: hanging{make(chan struct{})}}, nil
	},
}

// TestTheCallersEnd comes at each moment of a call, in attempts, in waits and while an answer is
// discarded: the call ends at once, and says what has ended it, and nothing is left of it.
func TestTheCallersEnd(t *testing.T) {
	for name, end := range attemptEnds {
		for _, by := range []string{"cancel", "deadline", "AttemptTimeout", "CallTimeout"} {
			for at := 13 * time.Millisecond; at < 6*time.Second; at += 97 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					took, closed, err := endedCall(t, end, by, at)
					cancelled, late := errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded)
					_, own := errors.AsType[*retry.TimeoutError](err)
					switch {
					case closed != 1:
						t.Errorf("%s, %s after %v: the body was closed %d times", name, by, at, closed)
					case by != "AttemptTimeout" && took > at:
						t.Errorf("%s, %s after %v: took %v", name, by, at, took)
					case cancelled != (by == "cancel" && took == at), own && !strings.HasSuffix(by, "Timeout"):
						t.Errorf("%s, %s after %v: got %v after %v", name, by, at, err, took)
					case took == at && by != "cancel" && !late:
						t.Errorf("%s, %s after %v: got %v", name, by, at, err)
					}
				})
			}
		}
	}
}

// endedCall is a call that is ended so.
func endedCall(t *testing.T, end func() (*http.Response, error), by string, at time.Duration) (took time.Duration, closed int, err error) {
	p := retry.Policy{MaxRetries: 3, Interval: time.Second, Spread: -1, RetryStatuses: []int{503}, Repeatable: []string{"POST"}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch by {
	case "cancel":
		time.AfterFunc(at, cancel)
	case "deadline":
		ctx, cancel = context.WithTimeout(ctx, at)
		defer cancel()
	case "AttemptTimeout":
		p.AttemptTimeout = at
	default:
		p.CallTimeout = at
	}
	body := &countedBody{Reader: strings.NewReader("body")}
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://x/", body)
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
	start := time.Now()
	resp, err := (&retry.Transport{Base: tardy{end}, Policy: p}).RoundTrip(req)
	took = time.Since(start)
	if err == nil {
		resp.Body.Close()
	}
	synctest.Wait() // for what closes an answer; time stands still
	return took, body.closed, err
}
