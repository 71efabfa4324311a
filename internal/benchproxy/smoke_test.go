//go:build proxies && unix

package benchproxy

import (
	"errors"
	"os"
	"testing"
	"time"

	"example.com/connwise/bench"
)

const smokeWorkers = 16

// smoked are those of "make bench-proxies".
var smoked = []string{"nginx", "haproxy", "caddy", "apache", "nghttpx"}

// Each proxy runs what it can for a moment. What a client can't be blamed
// for is left out: idle-race, which a busy machine spoils, and apache over HTTP/2, whose
// reloads cut streams that it says it has taken.
func TestBenchBehindRealProxies(t *testing.T) {
	for _, name := range smoked {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := installed(t, name)
			rep, err := bench.Run(t.Context(), bench.Options{
				Proxies: []bench.Proxy{x}, Scenarios: []string{"restart", "keepalive-requests", "goaway"},
				Clients:  []bench.Client{bench.Connwise(), bench.ConnwiseConfirming()},
				Duration: 800 * time.Millisecond, Rounds: 1, Workers: smokeWorkers,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rep.Results {
				check(t, r)
			}
			if n := len(rep.Results) + len(rep.Skipped); n != 5 {
				t.Errorf("%d rows and %d skipped, want 5 in all", len(rep.Results), len(rep.Skipped))
			}
		})
	}
}

// installed skips the test without the proxy or, with CI=true, fails.
func installed(t *testing.T, name string) bench.Proxy {
	t.Helper()
	xs, err := Named(name)
	_, missing := errors.AsType[*bench.UsageError](err)
	switch {
	case missing && os.Getenv("CI") != "true":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return xs[0]
}

func check(t *testing.T, r bench.Result) {
	t.Logf("%s: %d requests, %d failed, %d of them avoidably; %d dials, timers %.0f ms late: %s",
		r.Key(), r.Requests, r.Failed, *r.Avoidable, *r.Dials, *r.TimersLate, r.FirstError)
	if *r.ExecutedTwice != 0 || *r.Lost != 0 || r.NotOK != 0 || r.Succeeded() < smokeWorkers {
		t.Errorf("%s: %d done, %d executed twice, %d lost, %d answers not 2xx: %s",
			r.Key(), r.Succeeded(), *r.ExecutedTwice, *r.Lost, r.NotOK, r.FirstError)
	}
	if *r.Avoidable > 0 && provable(r) {
		t.Errorf("%s: %d calls failed that were never executed: %s", r.Key(), *r.Avoidable, r.FirstError)
	}
}

// provable says that the proxy tells, or can be asked, what became of each call.
func provable(r bench.Result) bool {
	if r.Proto == "h2" {
		return r.Proxy != "apache"
	}
	return r.Scenario != "restart" || r.Client == bench.ConnwiseConfirming().Name
}
