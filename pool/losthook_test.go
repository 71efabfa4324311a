package pool

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/dialer"
)

// Hooks and resolvers that don't heed their context don't pile up, and don't block their host
// for long.
func TestHooksThatGoOnAreFew(t *testing.T) {
	t.Run("hook", func(t *testing.T) {
		goOn(t, func(deaf func()) Config {
			return Config{Base: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				deaf()
				return nil, context.DeadlineExceeded
			}}}
		})
	})
	t.Run("resolver", func(t *testing.T) {
		goOn(t, func(deaf func()) Config {
			return Config{Base: &http.Transport{}, Dialer: &dialer.Dialer{Resolver: deafResolver(deaf)}}
		})
	})
}

type deafResolver func()

func (f deafResolver) LookupHost(context.Context, string) ([]string, error) {
	f()
	return nil, context.DeadlineExceeded
}

func goOn(t *testing.T, config func(deaf func()) Config) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		deaf := func() {
			count(1)
			defer count(-1)
			time.Sleep(3 * time.Second)
		}
		tr, err := New(config(deaf))
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		wave := func() {
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					defer cancel()
					req, _ := http.NewRequestWithContext(ctx, "GET", "http://host.test/", nil)
					if _, err := tr.RoundTrip(req); err == nil {
						t.Error("an answer")
					}
				})
			}
			wg.Wait()
		}
		for range 100 {
			wave()
			time.Sleep(60 * time.Millisecond) // until the dials that were cut have been given up
		}
		mu.Lock()
		if limit := 3 * firstDials; most > limit {
			t.Errorf("%d at a time, want at most %d", most, limit)
		}
		mu.Unlock()
		time.Sleep(2 * lostFor)
		synctest.Wait()
		h := tr.allHosts()[0]
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.lost != 0 || h.dialing != 0 {
			t.Errorf("%d lost hooks, %d dials at the end", h.lost, h.dialing)
		}
	})
}
