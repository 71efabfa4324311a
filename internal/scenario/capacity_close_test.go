package scenario

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// Close ends what is stuck, wherever that is, and waits for nobody.
func TestCloseEndsWhateverIsStuck(t *testing.T) {
	eachRut(t, func(t *testing.T, tr *pool.Transport) {
		start := time.Now()
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > soon {
			t.Errorf("Close took %v", took)
		}
	})
}

// Shutdown gives up with its context, and says so; Close ends the rest.
func TestShutdownGivesUpInTime(t *testing.T) {
	const limit = 100 * time.Millisecond
	eachRut(t, func(t *testing.T, tr *pool.Transport) {
		why := errors.New("the operator's patience")
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), limit, why)
		defer cancel()
		err := tr.Shutdown(ctx)
		if took := time.Since(start); !errors.Is(err, why) || took < limit || took > limit+soon {
			t.Errorf("Shutdown took %v: %v", took, err)
		}
		start = time.Now()
		if err := tr.Close(); err != nil || time.Since(start) > soon {
			t.Errorf("Close took %v: %v", time.Since(start), err)
		}
	})
}

// eachRut closes a transport in each of them, and looks what became of it.
func eachRut(t *testing.T, end func(*testing.T, *pool.Transport)) {
	t.Helper()
	var cases []func()
	for _, sp := range speeches {
		for _, rt := range ruts {
			if !rt.in(sp) {
				continue
			}
			cases = append(cases, func() {
				t.Run(sp.name+"/"+rt.name, func(t *testing.T) {
					tr, url, stuck := rt.enter(t, newPart(t, sp.mode), sp)
					end(t, tr)
					for i, call := range stuck {
						select {
						case err := <-call:
							if !errors.Is(err, pool.ErrClosed) {
								t.Errorf("call %d: %v", i, err)
							}
							poolError(t, err)
						case <-time.After(soon):
							t.Fatalf("call %d hasn't ended", i)
						}
					}
					gone(t, tr, url)
				})
			})
		}
	}
	side(t, cases)
}
