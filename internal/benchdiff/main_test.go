package benchdiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"example.com/connwise/bench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A maker makes reports whose figures are known but for noise.
type maker struct {
	*rand.Rand
	rounds int
	noise  float64 // of each round of each client, as a share
}

func newMaker(seed uint64, rounds int, noise float64) maker {
	return maker{rand.New(rand.NewPCG(seed, 7)), rounds, noise}
}

// jitter is a factor around 1.
func (m maker) jitter(share float64) float64 { return math.Exp(share * m.NormFloat64()) }

// report has rows scenarios in which connwise needs cpu times the CPU of net/http on a machine of
// that slowness, whose speed wanders from round to round for both.
func (m maker) report(rows int, slow float64, cpu func(row int) float64) bench.Report {
	var rep bench.Report
	for i := range rows {
		weather := make([]float64, m.rounds)
		for k := range weather {
			weather[k] = slow * m.jitter(0.2)
		}
		name := "s" + string(rune('A'+i))
		rep.Results = append(rep.Results, m.row(name, "connwise", weather, 10*cpu(i)), m.row(name, "net/http", weather, 20))
	}
	return rep
}

func (m maker) row(scenario, client string, weather []float64, cpu float64) bench.Result {
	r := bench.Result{
		Scenario: scenario, Proto: "h1", Client: client, Requests: int64(1000 * m.rounds),
		Avoidable: new(int64(0)), ExecutedTwice: new(int64(0)), Lost: new(int64(0)), AllocsPerRequest: 16,
	}
	sum := 0.0
	for _, w := range weather {
		x := cpu * w * m.jitter(m.noise)
		sum += x
		r.Samples = append(r.Samples, bench.Sample{Requests: 1000, CPUPerRequest: &x, AllocsPerRequest: 16})
	}
	r.CPUPerRequest = new(sum / float64(m.rounds))
	return r
}

func even(int) float64 { return 1 }

// verdicts returns those of a metric, by the row's name.
func verdicts(c Comparison, metric string) map[string]Verdict {
	got := map[string]Verdict{}
	for _, ch := range c.Changes {
		if ch.Metric == metric {
			got[ch.Scenario+" "+ch.Client] = ch.Verdict
		}
	}
	return got
}
