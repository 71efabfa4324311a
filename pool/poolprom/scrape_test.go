package poolprom_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A scrape is what a registry shows: values by name and labels, as in the text format.
type scrape map[string]float64

// registered is a pedantic registry with the collectors.
func registered(tb testing.TB, cs ...prometheus.Collector) *prometheus.Registry {
	tb.Helper()
	reg := prometheus.NewPedanticRegistry()
	for _, c := range cs {
		if err := reg.Register(c); err != nil {
			tb.Fatal(err)
		}
	}
	return reg
}

func scrapeOf(tb testing.TB, g prometheus.Gatherer) scrape {
	tb.Helper()
	families, err := g.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	s := make(scrape)
	for _, f := range families {
		for _, m := range f.Metric {
			s.add(f.GetName(), m)
		}
	}
	return s
}

func (s scrape) add(name string, m *dto.Metric) {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	at := func(suffix string, more ...string) string {
		return name + suffix + "{" + strings.Join(append(slices.Clone(labels), more...), ",") + "}"
	}
	switch {
	case m.Counter != nil:
		s[at("")] = m.Counter.GetValue()
	case m.Gauge != nil:
		s[at("")] = m.Gauge.GetValue()
	case m.Summary != nil:
		s[at("_count")], s[at("_sum")] = float64(m.Summary.GetSampleCount()), m.Summary.GetSampleSum()
	case m.Histogram != nil:
		s[at("_count")], s[at("_sum")] = float64(m.Histogram.GetSampleCount()), m.Histogram.GetSampleSum()
		for _, b := range m.Histogram.Bucket {
			s[at("_bucket", fmt.Sprintf("le=\"%v\"", b.GetUpperBound()))] = float64(b.GetCumulativeCount())
		}
	}
}

// want checks values.
func (s scrape) want(tb testing.TB, all map[string]float64) {
	tb.Helper()
	for _, k := range sortedKeys(all) {
		if got, ok := s[k]; got != all[k] || !ok {
			tb.Errorf("%s is %v (there: %v), want %v", k, got, ok, all[k])
		}
	}
}

// sum adds up the series of a name that have all of the labels.
func (s scrape) sum(name string, labels ...string) (sum float64) {
	for k, v := range s {
		if strings.HasPrefix(k, name+"{") && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(k, l) }) {
			sum += v
		}
	}
	return sum
}

// series are the names that have the label.
func (s scrape) series(label string) (names []string) {
	for k := range s {
		if strings.Contains(k, label) {
			names = append(names, k)
		}
	}
	return names
}

func wantNoLint(tb testing.TB, g prometheus.Gatherer) {
	tb.Helper()
	problems, err := testutil.GatherAndLint(g)
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range problems {
		tb.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// dialTo connects to addr, whatever it is asked for.
func dialTo(addr string) func(ctx context.Context, network, _ string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}
