package retry_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A keeper is a real server that closes connections which have been idle for some time.
type keeper struct {
	*httptest.Server
	served atomic.Int64
}

func newKeeper(t *testing.T, idle time.Duration, announce string) *keeper {
	k := new(keeper)
	k.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if b, _ := io.ReadAll(req.Body); string(b) == "data" || req.Method != "POST" {
			k.served.Add(1)
		}
		if announce != "" {
			w.Header().Set("Keep-Alive", announce)
		}
		io.WriteString(w, "ok")
	}))
	k.Config.IdleTimeout = idle
	k.StartTLS()
	t.Cleanup(k.Close)
	return k
}

// trusts makes a rig's client call the keeper.
func (k *keeper) trusts(change func(*pool.Config)) func(*rig, *pool.Config) {
	return func(_ *rig, cfg *pool.Config) {
		cfg.Base.TLSClientConfig = &tls.Config{RootCAs: k.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
		if change != nil {
			change(cfg)
		}
	}
}

func (k *keeper) post(r *rig) result { return r.do("POST", k.URL, strings.NewReader("data")) }

// pace makes POSTs from lanes of their own, with gaps around the keeper's timeout. None may fail,
// come twice, or need a retry.
func (k *keeper) pace(t *testing.T, r *rig, lanes int, gap func(lane int) time.Duration) {
	t.Helper()
	before := k.served.Load()
	var wg sync.WaitGroup
	const rounds = 3
	for lane := range lanes {
		wg.Go(func() {
			for range rounds {
				r.wantOK(k.post(r), 0)
				<-time.After(gap(lane)) // being idle is what is tested
			}
		})
	}
	wg.Wait()
	if n := k.served.Load() - before; n != int64(lanes*rounds) {
		t.Errorf("the server saw %d requests, want %d", n, lanes*rounds)
	}
}

// around spreads the lanes' gaps over the time in which a close meets a request.
func around(idle time.Duration) func(int) time.Duration {
	return func(lane int) time.Duration { return idle + time.Duration(lane-5)*2*time.Millisecond }
}

// TestA13_IdleLimit: the client's limit stays under the server's timeout, be that configured,
// announced, or learnt from the server's closes.
func TestA13_IdleLimit(t *testing.T) {
	const idle = 300 * time.Millisecond // and a third less for a busy machine
	t.Run("configured", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, idle, "")
		r := newRig(t, retry.NeverTimeouts(), nil, k.trusts(func(cfg *pool.Config) { cfg.ProxyIdleTimeout, cfg.IdleMargin = idle, idle/3 }))
		k.pace(t, r, 8, around(idle))
		wantLimit(t, r, "configured", idle)
	})
	t.Run("announced", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, time.Second, "timeout=1")
		r := newRig(t, retry.NeverTimeouts(), nil, k.trusts(func(cfg *pool.Config) { cfg.IdleMargin = idle / 3 }))
		k.pace(t, r, 8, around(time.Second))
		wantLimit(t, r, "announced", time.Second)
	})
	t.Run("learnt", func(t *testing.T) {
		t.Parallel()
		k := newKeeper(t, idle, "")
		r := newRig(t, retry.NeverTimeouts(), nil, k.trusts(func(cfg *pool.Config) { cfg.IdleMargin = idle / 3 }))
		for i := 0; i == 0 || r.host().LearntIdle == 0; i++ {
			if i == 12 {
				t.Fatalf("12 closes have taught nothing: %+v", r.host())
			}
			r.wantOK(k.post(r), 0)
			waitFor(t, func() bool { return r.host().Open == 0 })
		}
		k.pace(t, r, 8, around(idle))
		wantLimit(t, r, "learnt", r.host().LearntIdle)
	})
}

// host is the only one that the rig's pool has.
func (r *rig) host() pool.HostStats { return r.pool.Stats().Hosts[0] }

func wantLimit(t *testing.T, r *rig, source string, below time.Duration) {
	t.Helper()
	if h := r.host(); h.IdleLimitSource != source || h.IdleLimit <= 0 || h.IdleLimit >= below {
		t.Errorf("the limit is %v by %s, want less than %v by %s", h.IdleLimit, h.IdleLimitSource, below, source)
	}
}

// TestB12_KeepAlive: connections that are kept make no rule worse. What is gone between two
// requests costs no retry, even where there are none; what is lost on a connection that was kept
// is judged as on any other; and a connection that can be kept is.
func TestB12_KeepAlive(t *testing.T) {
	for _, name := range retry.Names() {
		policy, _ := retry.Named(name)
		o := newOrigin(t, true, []string{serve, serve, thenFIN}, []string{serve, thenRST}, []string{serve, thenBare})
		r := newRig(t, quick(policy), nil, watched)
		for i := range 10 {
			r.wantOK(r.do("POST", o.url(), strings.NewReader(strconv.Itoa(i))), 0)
			if i == 2 || i == 4 || i == 6 {
				waitClosed(t, <-r.dials)
			}
		}
		var want []seen
		for i := range 10 {
			want = append(want, seen{method: "POST", body: strconv.Itoa(i)})
		}
		o.wantSeen(want...)
		if n := o.accepted(); n != 4 {
			t.Errorf("%s: %d connections, want 4", name, n)
		}
	}
	for _, preset := range systems {
		for _, w := range sentWays[:5] {
			for _, verb := range []string{"GET", "POST"} {
				policy, _ := retry.Named(preset)
				o := newOrigin(t, true, []string{serve, w.act})
				r := newRig(t, quick(policy), nil, nil)
				r.wantOK(r.do("GET", o.url(), nil), 0)
				res := r.do(verb, o.url(), nil)
				if verb == "GET" {
					r.wantOK(res, 1)
					o.wantSeen(seen{method: "GET"}, seen{method: "GET"}, seen{method: "GET"})
					continue
				}
				w.wantError(t, preset+" "+w.name, res.err)
				o.wantSeen(seen{method: "GET"}, seen{method: "POST"})
			}
		}
	}
}
