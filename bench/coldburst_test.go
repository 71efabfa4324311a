package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkColdBurst makes waves of 1,000 GETs at once over TLS, each on a new client that
// knows nothing of the server, which runs in another process: an iteration is a wave of
// connwise and a wave of net/http. It reports the median wave's p99 and dials of each, and
// connwise's as a share of net/http's.
//
//	go test -run '^$' -bench ColdBurst -benchtime 5x ./bench
func BenchmarkColdBurst(b *testing.B) {
	const calls = 1000
	for _, delay := range []time.Duration{5 * time.Millisecond, 200 * time.Millisecond} {
		b.Run(fmt.Sprintf("calls=%d/delay=%v", calls, delay), func(b *testing.B) {
			rounds := min(b.N, 100)
			rep, err := Run(b.Context(), Options{
				Scenarios: []string{"burst"}, Protos: []string{"h1s"},
				Burst: calls, Delay: delay, Rounds: rounds, Requests: rounds * calls, Duration: time.Hour,
				Stderr: os.Stderr,
			})
			if err != nil {
				b.Fatal(err)
			}
			for _, r := range rep.Results {
				if r.Failed != 0 || r.NotOK != 0 || *r.Lost != 0 {
					b.Errorf("%s: %d failed, %d not 2xx, %d lost; first error: %s", r.Client, r.Failed, r.NotOK, *r.Lost, r.FirstError)
				}
				name := strings.ReplaceAll(r.Client, "/", "-")
				b.ReportMetric(*r.WaveP99/1000, name+"-p99-ms")
				b.ReportMetric(float64(*r.WaveDials), name+"-dials")
			}
			ours, theirs := rep.Results[0], rep.Results[1]
			b.ReportMetric(*ours.WaveP99 / *theirs.WaveP99, "p99-share")
			b.ReportMetric(float64(*ours.WaveDials)/float64(*theirs.WaveDials), "dials-share")
			b.ReportMetric(0, "ns/op") // of both clients, the peer's start and what is cleared away
		})
	}
}
