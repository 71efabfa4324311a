package retry_test

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestB11_MatrixOnTheWire: what the printed matrix says is what happens. In each phase that a
// failure over HTTP/1.1 can have, with and without a timeout, each preset makes with each verb as
// many attempts as its row says.
func TestB11_MatrixOnTheWire(t *testing.T) {
	ways := []way{
		unsentWays[9], sentWays[0], sentWays[4],
		{name: "TLS timeout", phase: pool.PhaseDial, timeout: true, act: hsSilence, change: hastyTLS},
		{name: "read timeout", phase: pool.PhaseSent, timeout: true, act: never, change: hastyAnswer},
		{name: "a dead connection", phase: pool.PhaseUnsent, change: cutOff},
	}
	for _, name := range retry.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy, _ := retry.Named(name)
			says := map[string]bool{}
			for _, row := range retry.Matrix(policy) {
				if row.OptIn == "none" && !row.HeadOnly {
					says[fmt.Sprint(row.Phase, row.Timeout, row.Method)] = row.Retry
				}
			}
			for _, w := range ways {
				for _, verb := range verbs {
					again, known := says[fmt.Sprint(w.phase.String(), w.timeout, verb)]
					if !known {
						t.Fatalf("the matrix has no row for %v, %v, %s", w.phase, w.timeout, verb)
					}
					want := 0
					if again {
						want = map[string]int{"once": 1}[name]
						if want == 0 {
							want = 2
						}
					}
					o, r := w.start(t, quick(policy), 3)
					res := r.sendPayload(o.url(), payload{method: verb, body: payloads()[0].body})
					w.wantError(t, w.name+" "+verb, res.err)
					r.wantRetries(res, want)
					if n := o.accepted(); n != want+1 {
						t.Errorf("%s, %s: %d attempts, want %d", w.name, verb, n, want+1)
					}
				}
			}
		})
	}
}

// These end what never comes.
func hastyTLS(_ *rig, cfg *pool.Config)    { cfg.Base.TLSHandshakeTimeout = limit / 25 }
func hastyAnswer(_ *rig, cfg *pool.Config) { cfg.Base.ResponseHeaderTimeout = limit / 25 }

// cutOff makes each connection end in the last moment before the request's first byte.
func cutOff(r *rig, cfg *pool.Config) {
	watched(r, cfg)
	cfg.BeforeSend = func(*http.Request) error {
		return (<-r.dials).(*dialer.Conn).CloseWrite()
	}
}
