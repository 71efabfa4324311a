package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// An attemptOver is a cause of a context's end that is a timeout, though the context says
// "canceled".
type attemptOver struct{}

func (*attemptOver) Error() string   { return "the attempt's time is over" }
func (*attemptOver) Timeout() bool   { return true }
func (*attemptOver) Temporary() bool { return true }

var (
	errAttemptOver = &attemptOver{}
	errPlainCause  = errors.New("the caller has better things to do")
)

// An ending is a way in which a request's context ends.
type ending struct {
	begin   func(context.Context) (ctx context.Context, end func())
	is      []error // what errors.Is finds
	timeout bool
}

// endAt is the deadline of those that have one. end waits for it.
const endAt = time.Second

func cancels(cause error) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		return ctx, func() { cancel(cause) }
	}
}

func expires(cause error) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithTimeoutCause(ctx, endAt, cause)
		return ctx, func() { <-ctx.Done(); cancel() }
	}
}

var endings = map[string]ending{
	"cancelled":              {cancels(nil), []error{context.Canceled}, false},
	"cancelled with a cause": {cancels(errPlainCause), []error{context.Canceled, errPlainCause}, false},
	"cancelled by a timeout": {cancels(errAttemptOver), []error{context.Canceled, errAttemptOver}, true},
	"expired":                {expires(nil), []error{context.DeadlineExceeded}, true},
	"expired with a cause":   {expires(errPlainCause), []error{context.DeadlineExceeded, errPlainCause}, true},
	"expired with a timeout": {expires(errAttemptOver), []error{context.DeadlineExceeded, errAttemptOver}, true},
	"cancelled, wrapping a timeout": {
		cancels(&wrapping{errAttemptOver}), []error{context.Canceled, errAttemptOver}, true},
}

type wrapping struct{ err error }

func (w *wrapping) Error() string { return "attempt 2: " + w.err.Error() }
func (w *wrapping) Unwrap() error { return w.err }

// hangingBody is read for ever, until it is closed.
type hangingBody struct{ closed chan struct{} }

func (b hangingBody) Read([]byte) (int, error) { <-b.closed; return 0, io.ErrClosedPipe }
func (b hangingBody) Close() error             { close(b.closed); return nil }

// endPaths are where a request may be when its context ends: each leads one there, calls end,
// and returns the error.
var endPaths = map[string]struct {
	phase Phase
	lead  func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error
}{
	"before": {PhaseWait, func(s *script, _ func(*scriptDial) asker, ctx context.Context, end func()) error {
		end()
		tp := s.getIn(ctx)
		<-tp.done
		return tp.err
	}},
	"wait": {PhaseWait, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		first := s.get()
		a := peer(s.wantDial())
		a.take()
		a.begin()
		first.wantHead()
		tp := s.getIn(ctx)
		return endedBy(first, tp, end)
	}},
	"dial": {PhaseDial, func(s *script, _ func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.getIn(ctx)
		d := s.wantDial()
		err := endedBy(nil, tp, end)
		d.done <- io.EOF
		return err
	}},
	"unsent": {PhaseUnsent, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.getIn(WithBeforeSend(ctx, func(*http.Request) error { end(); return nil }))
		peer(s.wantDial())
		<-tp.done
		return tp.err
	}},
	"sending": {PhaseSending, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.start(s.request("POST", hangingBody{make(chan struct{})}).WithContext(ctx))
		peer(s.wantDial())
		return endedBy(nil, tp, end)
	}},
	"sent": {PhaseSent, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.getIn(ctx)
		peer(s.wantDial()).take()
		return endedBy(nil, tp, end)
	}},
	"response": {PhaseResponse, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.getIn(ctx)
		a := peer(s.wantDial())
		a.take()
		a.interim()
		return endedBy(nil, tp, end)
	}},
	"body, in a Read": {PhaseResponse, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.getIn(ctx)
		a := peer(s.wantDial())
		a.take()
		a.begin()
		tp.wantHead()
		read := make(chan error)
		go func() {
			_, err := io.ReadAll(tp.resp.Body)
			read <- err
		}()
		synctest.Wait()
		end()
		return <-read
	}},
	"body, before a Read": {PhaseResponse, func(s *script, peer func(*scriptDial) asker, ctx context.Context, end func()) error {
		tp := s.getIn(ctx)
		a := peer(s.wantDial())
		a.take()
		a.begin()
		tp.wantHead()
		end()
		synctest.Wait()
		_, err := io.ReadAll(tp.resp.Body)
		return err
	}},
}

// endedBy is the trip's error behind end. first, if there is one, has the only connection.
func endedBy(first, tp *trip, end func()) error {
	tp.wantPending()
	end()
	<-tp.done
	if first != nil {
		first.resp.Body.Close()
	}
	return tp.err
}

// Wherever the request is when its context ends, the error is the context's and its cause, and
// says whether that was a timeout: package retry, and others, end attempts so.
func TestCauseOfAContextsEnd(t *testing.T) {
	cfg := func() Config {
		return Config{MaxConnsPerHost: 1, Base: &http.Transport{HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}}
	}
	for where, path := range endPaths {
		for how, tt := range endings {
			t.Run(where+"/"+how, func(t *testing.T) {
				bothBubbles(t, cfg, func(s *script, peer func(*scriptDial) asker) {
					if where == "wait" {
						peer = oneStream(peer)
					}
					ctx, end := tt.begin(s.Context())
					began := time.Now()
					err := path.lead(s, peer, ctx, end)
					e, ok := errors.AsType[*Error](err)
					if !ok || err != error(e) || e.Phase != path.phase || e.Timeout() != tt.timeout || e.Temporary() != tt.timeout {
						t.Fatalf("%#v (%v), want phase %v, timeout %v", err, err, path.phase, tt.timeout)
					}
					for _, is := range tt.is {
						if !errors.Is(err, is) {
							t.Errorf("%v isn't %v", err, is)
						}
					}
					for _, other := range []error{context.Canceled, context.DeadlineExceeded, errPlainCause, errAttemptOver} {
						if found := errors.Is(err, other); found && !slices.Contains(tt.is, other) {
							t.Errorf("%v is %v", err, other)
						}
					}
					if took := time.Since(began); took > endAt+hookTime {
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

// oneStream is peer with one stream at a time over HTTP/2.
func oneStream(peer func(*scriptDial) asker) func(*scriptDial) asker {
	return func(d *scriptDial) asker {
		a := peer(d)
		if a2, ok := a.(*askerH2); ok {
			a2.p.settings(1)
		}
		return a
	}
}

// A stream that ends so has timed out, and the peer is asked for a sign of life, as after a
// deadline.
func TestCauseThatIsATimeoutRaisesDoubt(t *testing.T) {
	for how, want := range map[string]int{"cancelled by a timeout": 1, "expired": 1, "cancelled": 0} {
		h2Bubble(t, Config{}, func(s *script) {
			p := s.silentH2(100)
			time.Sleep(moment)
			ctx, end := endings[how].begin(s.Context())
			tp := s.getIn(ctx)
			p.wantRequest()
			time.Sleep(endAt)
			end()
			<-tp.done
			synctest.Wait()
			pings := 0
			for len(p.frames) > 0 {
				if f := <-p.frames; f.Type == http2.FramePing && !f.Flags.Has(http2.FlagPingAck) {
					pings++
				}
			}
			if pings != want {
				t.Errorf("%s: %d PINGs, want %d", how, pings, want)
			}
		})
	}
}
