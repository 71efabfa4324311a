package poolprom

import (
	"time"

	"example.com/connwise/pool"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// client_golang's own constant metrics make their labels anew for each; these share them, and
// cost half. A registry writes metrics when the collector has long gone on to the next scrape, so they
// have all values in themselves.

// A number is a counter, a gauge, or a summary without quantiles.
type number struct {
	desc   *prometheus.Desc
	labels []pair
	kind   dto.MetricType
	value  float64 // a summary's sum
	count  uint64
}

func (m *number) Desc() *prometheus.Desc { return m.desc }

func (m *number) Write(out *dto.Metric) error {
	out.Label = m.labels
	switch m.kind {
	case dto.MetricType_COUNTER:
		out.Counter = &dto.Counter{Value: &m.value}
	case dto.MetricType_SUMMARY:
		out.Summary = &dto.Summary{SampleSum: &m.value, SampleCount: &m.count}
	default:
		out.Gauge = &dto.Gauge{Value: &m.value}
	}
	return nil
}

// A histogram is one of pool's.
type histogram struct {
	desc   *prometheus.Desc
	labels []pair
	bounds *[]float64 // in seconds; never changes
	times  pool.Histogram
}

func (m *histogram) Desc() *prometheus.Desc { return m.desc }

func (m *histogram) Write(out *dto.Metric) error {
	n := len(*m.bounds)
	buckets, all, counts := make([]dto.Bucket, n), make([]*dto.Bucket, n), make([]uint64, n+1)
	for i, c := range m.times.Counts[:n] {
		counts[i+1] = counts[i] + c
		buckets[i].CumulativeCount, buckets[i].UpperBound = &counts[i+1], &(*m.bounds)[i]
		all[i] = &buckets[i]
	}
	total, sum := m.times.Count(), m.times.Sum.Seconds()
	out.Label = m.labels
	out.Histogram = &dto.Histogram{SampleCount: &total, SampleSum: &sum, Bucket: all}
	return nil
}

// inSeconds are bounds as Prometheus has them.
func inSeconds(bounds []time.Duration) *[]float64 {
	s := make([]float64, len(bounds))
	for i, b := range bounds {
		s[i] = b.Seconds()
	}
	return &s
}

// A sink is where the metrics of one scrape go.
type sink struct {
	ch     chan<- prometheus.Metric
	labels []pair   // of the host that is being shown
	spare  []number // they are made some at a time
}

func (s *sink) put(n number) {
	if len(s.spare) == 0 {
		s.spare = make([]number, 64)
	}
	s.spare[0] = n
	s.ch <- &s.spare[0]
	s.spare = s.spare[1:]
}

func (s *sink) counter(d *prometheus.Desc, v uint64) {
	s.put(number{desc: d, labels: s.labels, kind: dto.MetricType_COUNTER, value: float64(v)})
}

func (s *sink) counterOf(d *prometheus.Desc, p pair, v uint64) {
	s.put(number{desc: d, labels: with(s.labels, p), kind: dto.MetricType_COUNTER, value: float64(v)})
}

func (s *sink) gauge(d *prometheus.Desc, v float64) {
	s.put(number{desc: d, labels: s.labels, kind: dto.MetricType_GAUGE, value: v})
}

func (s *sink) gaugeOf(d *prometheus.Desc, p pair, v float64) {
	s.put(number{desc: d, labels: with(s.labels, p), kind: dto.MetricType_GAUGE, value: v})
}

// some is gauge for what is known only if it isn't zero.
func (s *sink) some(d *prometheus.Desc, v float64) {
	if v > 0 {
		s.gauge(d, v)
	}
}

func (s *sink) summaryOf(d *prometheus.Desc, p pair, count uint64, sum time.Duration) {
	s.put(number{desc: d, labels: with(s.labels, p), kind: dto.MetricType_SUMMARY, count: count, value: sum.Seconds()})
}

func (s *sink) histogram(d *prometheus.Desc, bounds *[]float64, times *pool.Histogram) {
	s.ch <- &histogram{desc: d, labels: s.labels, bounds: bounds, times: *times}
}
