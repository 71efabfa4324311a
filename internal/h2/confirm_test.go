package h2

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// confirm asks in a goroutine.
func (r *rig) confirm(ctx context.Context, wait time.Duration) chan error {
	got := make(chan error, 1)
	go func() { got <- r.c.Confirm(ctx, nil, wait) }()
	synctest.Wait()
	return got
}

// pending wants that nobody knows yet.
func (r *rig) pending(got chan error) {
	r.t.Helper()
	synctest.Wait()
	select {
	case err := <-got:
		r.t.Fatalf("Confirm returned %v", err)
	default:
	}
}

func TestConfirm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		first := r.confirm(t.Context(), time.Second)
		data := r.hearsPing()
		time.Sleep(500 * time.Millisecond)
		second := r.confirm(t.Context(), time.Second) // shares it
		r.hearsNothing()
		r.fr.WritePing(true, [8]byte{9})
		r.pending(first)
		r.fr.WritePing(true, data)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Errorf("Confirm: %v", err)
		}
		if st := r.c.State(); st.PingsSent != 1 || st.Suspect || len(r.doubts) > 0 {
			t.Errorf("state %+v, doubts %v", st, r.doubts)
		}
		third := r.confirm(t.Context(), time.Second) // another time, another PING
		r.fr.WritePing(true, r.hearsPing())
		if err := <-third; err != nil {
			t.Errorf("Confirm: %v", err)
		}
	})
}

// Without an answer the connection is suspect until there is one.
func TestConfirmInVain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		start := time.Now()
		got := r.confirm(t.Context(), time.Second)
		late := r.confirm(t.Context(), 2*time.Second)
		data := r.hearsPing()
		if err := <-got; err != ErrUnconfirmed {
			t.Errorf("Confirm: %v", err)
		}
		elapsed(t, start, time.Second)
		synctest.Wait()
		if !r.c.State().Suspect || !slices.Equal(r.doubts, []bool{true}) {
			t.Errorf("doubts %v", r.doubts)
		}
		r.fr.WritePing(true, data)
		if err := <-late; err != nil {
			t.Errorf("Confirm: %v", err)
		}
		synctest.Wait()
		if r.c.State().Suspect || !slices.Equal(r.doubts, []bool{true, false}) {
			t.Errorf("doubts %v", r.doubts)
		}
	})
}

// What ends the connection, or new streams on it, ends the wait.
func TestConfirmEndsWithTheConnection(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"close":    func(r *rig) { r.peer.Close() },
		"GOAWAY":   func(r *rig) { r.fr.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"own kill": func(r *rig) { r.c.Kill(errors.New("killed")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				start := time.Now()
				got := r.confirm(t.Context(), time.Hour)
				r.hearsPing()
				end(r)
				if err := <-got; err == nil || err == ErrUnconfirmed {
					t.Errorf("Confirm: %v", err)
				}
				if err := r.c.Confirm(t.Context(), nil, time.Hour); err == nil || err == ErrUnconfirmed {
					t.Errorf("Confirm behind the end: %v", err)
				}
				elapsed(t, start, 0)
			})
		})
	}
}

func TestConfirmEndsWithTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		got := r.confirm(ctx, time.Hour)
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("Confirm: %v", err)
		}
		gone := make(chan struct{})
		close(gone)
		if err := r.c.Confirm(t.Context(), gone, time.Hour); err != wire.ErrCanceled {
			t.Errorf("Confirm: %v", err)
		}
	})
}

// The rules about PINGs stay: two without an answer's HEADERS or DATA in between, no more.
func TestConfirmHeedsTheServersRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		for range 2 {
			got := r.confirm(t.Context(), time.Second)
			r.fr.WritePing(true, r.hearsPing())
			if err := <-got; err != nil {
				t.Errorf("Confirm: %v", err)
			}
			time.Sleep(time.Second)
		}
		if err := r.c.Confirm(t.Context(), nil, time.Second); err != ErrNotAsked {
			t.Errorf("Confirm: %v", err)
		}
		r.hearsNothing()
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.ok(1, "") // pays
		a.answer(200)
		got := r.confirm(t.Context(), time.Second)
		r.fr.WritePing(true, r.hearsPing())
		if err := <-got; err != nil {
			t.Errorf("Confirm: %v", err)
		}
	})
}

// A stream of which no more than HEADERS left, as its body waits, and what ends that.
func TestHeadOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		peer func(r *rig)
		want bool
	}{
		"the connection ends": {func(r *rig) {}, true},
		"100 first":           {func(r *rig) { r.says(1, false, ":status", "100") }, false},
		"103 first":           {func(r *rig) { r.says(1, false, ":status", "103") }, false},
		"silence first":       {func(r *rig) { time.Sleep(time.Second) }, false},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newOpenRig(t, Options{ContinueTimeout: time.Second})
					req := expecting(t, newBody(t, "hello"), "")
					if !streamed {
						req = expecting(t, nil, "hello")
					}
					a := r.start(req)
					r.hearsHeaders(1, false)
					tt.peer(r)
					synctest.Wait()
					r.peer.Close()
					a.fails()
					if f := a.x.Facts(); f.HeadOnly != tt.want || f.HeadOnly && (f.AllSent || f.BodyTouched || f.Sent == 0) {
						t.Errorf("facts %+v", f)
					}
				})
			})
		}
	}
}
