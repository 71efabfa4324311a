package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// An answerBody is an answer's body whose Read and Close do as told.
type answerBody struct {
	read   func(p []byte) (int, error)
	closes func() error
	taken  int // bytes read
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.read(p)
	b.taken += n
	return n, err
}

func (b *answerBody) Close() error { return b.closes() }

// busyThenOK is a Base that answers 503 with the body, and then 200.
func busyThenOK(t *testing.T, length int64, body io.ReadCloser) *acts {
	return &acts{t: t, acts: []act{
		func(req *http.Request) (*http.Response, error) {
			resp := status(503, "Retry-After", "0")
			resp.Body, resp.ContentLength, resp.Request = body, length, req
			return resp, nil
		},
		func(req *http.Request) (*http.Response, error) { return status(200), nil },
	}}
}

// TestDiscardBounded: whatever a discarded answer's body does, the next attempt comes, in a bounded
// time, and the body was closed.
func TestDiscardBounded(t *testing.T) {
	for _, tt := range []struct {
		name       string
		length     int64
		endless    bool // Reads give bytes for ever
		hangs      bool // they block until Close
		deaf       bool // they go on to
		closeHangs bool
		took       time.Duration
		taken      int // at most
	}{
		{name: "endless", length: -1, endless: true, taken: drainBytes + 1},
		{name: "known to be long", length: drainBytes + 1, endless: true},
		{name: "slow", length: -1, hangs: true, took: drainTime},
		{name: "slow and short", length: 10, hangs: true, took: drainTime},
		{name: "deaf", length: -1, hangs: true, deaf: true, took: drainTime + closeTime},
		{name: "Close hangs", length: drainBytes + 1, closeHangs: true, took: drainTime + closeTime},
		{name: "both hang", length: -1, hangs: true, deaf: true, closeHangs: true, took: drainTime + closeTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end, closed := make(chan struct{}), make(chan struct{}, 9)
				b := &answerBody{
					read: func(p []byte) (int, error) {
						switch {
						case tt.endless:
							return len(p), nil
						case tt.deaf:
							<-end
						default:
							<-closed
						}
						return 0, errors.New("closed")
					},
					closes: func() error {
						closed <- struct{}{}
						if tt.closeHangs {
							<-end
						}
						return nil
					},
				}
				base := busyThenOK(t, tt.length, b)
				p := Policy{RetryStatuses: []int{503}, Backoff: func(int) time.Duration { return 0 }}
				start := time.Now()
				resp, err := (&Transport{Base: base, Policy: p}).RoundTrip(newRequest(t, "GET", nil))
				if err != nil || resp.StatusCode != 200 || base.made != 2 {
					t.Errorf("got %v, %v after %d attempts", resp, err, base.made)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				close(end)
				synctest.Wait()
				if b.taken > tt.taken {
					t.Errorf("%d bytes were read, want %d at most", b.taken, tt.taken)
				}
				if len(closed) == 0 && !tt.hangs {
					t.Error("the body was not closed")
				}
			})
		})
	}
}

// TestDiscardEnds: the end of the context doesn't wait for an answer that nobody wants.
func TestDiscardEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{}, 9)
		b := &answerBody{
			read:   func([]byte) (int, error) { <-closed; return 0, io.EOF },
			closes: func() error { closed <- struct{}{}; return nil },
		}
		base := busyThenOK(t, -1, b)
		base.acts = base.acts[:1]
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(drainTime/2, cancel)
		start := time.Now()
		_, err := (&Transport{Base: base, Policy: Policy{RetryStatuses: []int{503}}}).RoundTrip(newRequest(t, "GET", nil).WithContext(ctx))
		if s, ok := errors.AsType[*StoppedError](err); !ok || !errors.Is(err, context.Canceled) || s.Last == nil {
			t.Errorf("got %v, want a StoppedError with the context's", err)
		}
		if took := time.Since(start); took != drainTime/2 {
			t.Errorf("took %v, want %v", took, drainTime/2)
		}
		time.Sleep(drainTime) // in the bubble: then the body is closed
		synctest.Wait()
	})
}

// TestDiscardPanics: a body's panic reaches the caller, who may catch it.
func TestDiscardPanics(t *testing.T) {
	b := &answerBody{read: func([]byte) (int, error) { panic("broken body") }, closes: func() error { return nil }}
	base := busyThenOK(t, -1, b)
	base.acts = base.acts[:1]
	defer func() {
		if v := recover(); v != "broken body" {
			t.Errorf("recovered %v", v)
		}
	}()
	(&Transport{Base: base, Policy: Policy{RetryStatuses: []int{503}}}).RoundTrip(newRequest(t, "GET", nil))
}
