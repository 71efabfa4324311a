package benchhtml

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/connwise/bench"
)

// words says what the figures show, a sentence each.
func words(rep bench.Report) []string {
	if len(rep.Results) == 0 {
		return []string{"No row was run to its end."}
	}
	var list []string
	list = append(list, extent(rep))
	list = append(list, cpuWords(rep)...)
	list = append(list, p99Words(rep)...)
	list = append(list, growthWords(rep)...)
	return append(list, cautions(rep)...)
}

// extent says how much was run.
func extent(rep bench.Report) string {
	var requests int64
	protos, clients := map[string]bool{}, map[string]bool{}
	for _, r := range rep.Results {
		requests += r.Requests
		protos[r.Proto], clients[r.Client] = true, true
	}
	return fmt.Sprintf("%s made %s requests in %s over %s.",
		plural(len(clients), "client"), count(&requests), plural(len(scenariosOf(rep)), "scenario"), plural(len(protos), "protocol"))
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(&n) + " " + noun
}

// cpuWords says of each client how its CPU time compares with the reference's: in steady,
// where it is the point, by protocol, and over all rows.
func cpuWords(rep bench.Report) []string {
	sets := map[string]*ratios{}
	var order []string
	reference := ""
	for g, r := range rowsOf(rep) {
		if r.CPURatio == nil || r.CPURatioTo == "" {
			continue
		}
		reference = r.CPURatioTo
		s := sets[r.Client]
		if s == nil {
			s = new(ratios)
			sets[r.Client], order = s, append(order, r.Client)
		}
		s.all = append(s.all, r.CPURatio.Median)
		if r.Scenario == "steady" {
			s.steady = append(s.steady, fmt.Sprintf("%s %.2f", g.name(), r.CPURatio.Median))
		}
	}
	var list []string
	for _, name := range order {
		list = append(list, sets[name].words(name, reference))
	}
	return list
}

// ratios are a client's: those of all rows, and those of steady with their protocols.
type ratios struct {
	all    []float64
	steady []string
}

func (s *ratios) words(name, reference string) string {
	slices.Sort(s.all)
	text := fmt.Sprintf("%s needed %.2f times the CPU per request of %s (median of %s, %.2f to %.2f)",
		name, middle(s.all), reference, plural(len(s.all), "row"), s.all[0], s.all[len(s.all)-1])
	if len(s.steady) > 0 {
		text += "; in steady " + strings.Join(s.steady, ", ")
	}
	return text + "."
}

// rowsOf goes through all rows with their groups.
func rowsOf(rep bench.Report) func(func(*group, *bench.Result) bool) {
	return func(yield func(*group, *bench.Result) bool) {
		for _, s := range scenariosOf(rep) {
			for _, g := range s.groups {
				for i := range g.rows {
					if !yield(g, &g.rows[i]) {
						return
					}
				}
			}
		}
	}
}

// middle is the median of what is sorted.
func middle(xs []float64) float64 { return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2 }

// p99Words counts the rows in which a client's 99th percentile is far from the reference's.
func p99Words(rep bench.Report) []string {
	const far = 1.1
	lower, higher, rows := map[string]int{}, map[string]int{}, map[string]int{}
	var order []string
	reference := ""
	for g, r := range rowsOf(rep) {
		ref := g.row(g.reference())
		a, ok := number(r.P99)
		b, ok2 := number(ref.P99)
		if r.Client == ref.Client || !ok || !ok2 {
			continue
		}
		reference = ref.Client
		if rows[r.Client] == 0 {
			order = append(order, r.Client)
		}
		rows[r.Client]++
		if a*far < b {
			lower[r.Client]++
		}
		if b*far < a {
			higher[r.Client]++
		}
	}
	var list []string
	for _, name := range order {
		list = append(list, fmt.Sprintf("The 99th percentile of %s was lower than that of %s by a tenth or more in %d of %s, and higher in %d.",
			name, reference, lower[name], plural(rows[name], "row"), higher[name]))
	}
	return list
}

// growthWords says how the CPU time grew with the sizes.
func growthWords(rep bench.Report) []string {
	var list []string
	for _, s := range scenariosOf(rep) {
		families, _ := s.sized()
		for _, f := range families {
			var parts []string
			for _, r := range f[0].rows {
				if q, ok := worst(f, r.Client); ok && len(f) > 1 {
					parts = append(parts, fmt.Sprintf("%s %.2f", r.Client, q))
				}
			}
			if len(parts) > 0 {
				list = append(list, fmt.Sprintf("From %s to %s %s over %s, the dearest size needed so many times the CPU per request of the cheapest: %s.",
					count(&f[0].size), count(&f[len(f)-1].size), unitOf(s.name), f[0].line(), strings.Join(parts, ", ")))
			}
		}
	}
	return list
}

// cautions says what the figures can't tell.
func cautions(rep bench.Report) []string {
	var list []string
	rounds := math.MaxInt
	var silent []string
	for _, r := range rep.Results {
		rounds = min(rounds, len(r.Samples))
		if r.Succeeded() <= 0 {
			silent = append(silent, rowName(r))
		}
	}
	if len(silent) > 0 {
		list = append(list, "No call got a 2xx answer in: "+strings.Join(silent, "; ")+". These rows' figures are of nothing.")
	}
	if slices.ContainsFunc(rep.Results, func(r bench.Result) bool { return r.Partial }) {
		list = append(list, "The run was interrupted: rows with * are of the rounds that all of their clients had made.")
	}
	if slices.ContainsFunc(rep.Results, func(r bench.Result) bool { return r.Unmade > 0 }) {
		list = append(list, "Where calls were due and never made, the latencies are too good by what these would have waited.")
	}
	for _, s := range rep.Skipped {
		list = append(list, fmt.Sprintf("Not run: %s over %s behind %s, as it %s.", s.Scenario, s.Proto, s.Proxy, s.Reason))
	}
	if rounds < 5 {
		list = append(list, fmt.Sprintf("With %s a small difference may be noise: more (--rounds) and longer ones tell it from change.", plural(rounds, "round")))
	}
	return list
}
