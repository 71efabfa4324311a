package poolprom

import (
	"example.com/connwise/retry"

	"github.com/prometheus/client_golang/prometheus"
)

// A RetrySource has the counters of retries to give: a *retry.Transport.
type RetrySource interface{ Stats() retry.Stats }

// A RetryCollector is a prometheus.Collector of one retry.Transport. It may be registered in
// several registries, and scraped by several servers at the same time.
type RetryCollector struct {
	src   RetrySource
	fixed []pair
	all   []*prometheus.Desc

	retries, refusals, absorbed, failed                  *prometheus.Desc
	budgetCalls, budgetLeft, budgetSpent, budgetRefusals *prometheus.Desc
}

// NewRetry returns a collector of src. Of Options it has no use for MaxHosts: retries are not
// counted by host. Transports that share a Budget show the same figures of it.
func NewRetry(src RetrySource, o Options) *RetryCollector {
	c := &RetryCollector{src: src, fixed: constPairs(o.ConstLabels)}
	def := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc(prometheus.BuildFQName(o.namespace(), "retry", name), help, labels, o.ConstLabels)
		c.all = append(c.all, d)
		return d
	}
	c.retries = def("retries_total", "Attempts after the first ones, by what the evidence of the failure before was: never_sent, refused, maybe_sent; or answered, with a status that is retried.", "evidence")
	c.refusals = def("refusals_total", "Failures after which there was no other attempt, by reason.", "reason")
	c.absorbed = def("absorbed_calls_total", "Calls that were retried and answered, whatever the status.")
	c.failed = def("failed_calls_total", "Calls that were retried and failed nevertheless.")
	c.budgetCalls = def("budget_recent_requests", "Calls that began within the budget's window.")
	c.budgetLeft = def("budget_left", "What retries may still cost now, by account: maybe_sent, or unprocessed, where the request was provably not processed.", "account")
	c.budgetSpent = def("budget_spent_total", "What retries have cost, by account. One after a timeout costs more than one.", "account")
	c.budgetRefusals = def("budget_refusals_total", "Retries that the budget did not allow, by account.", "account")
	return c
}

// Describe sends the descriptions of all metrics.
func (c *RetryCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.all {
		ch <- d
	}
}

// evidences are what a retry may be counted by, so that all are there from the beginning.
var evidences = []string{
	retry.EvidenceNeverSent.String(), retry.EvidenceRefused.String(), retry.EvidenceMaybeSent.String(), "answered",
}

var accountMaybe, accountUnprocessed = newPair("account", "maybe_sent"), newPair("account", "unprocessed")

// Collect takes one snapshot and sends it.
func (c *RetryCollector) Collect(ch chan<- prometheus.Metric) {
	st, s := c.src.Stats(), &sink{ch: ch, labels: c.fixed}
	for _, e := range evidences {
		s.counterOf(c.retries, newPair("evidence", word(e)), st.Retries[e])
	}
	for reason, n := range st.Refused {
		s.counterOf(c.refusals, newPair("reason", word(string(reason))), n)
	}
	s.counter(c.absorbed, st.Absorbed)
	s.counter(c.failed, st.Failed)
	b := &st.Budget
	s.gauge(c.budgetCalls, float64(b.Requests))
	s.gaugeOf(c.budgetLeft, accountMaybe, float64(b.Left))
	s.gaugeOf(c.budgetLeft, accountUnprocessed, float64(b.LeftUnprocessed))
	s.counterOf(c.budgetSpent, accountMaybe, b.Spent)
	s.counterOf(c.budgetSpent, accountUnprocessed, b.SpentUnprocessed)
	s.counterOf(c.budgetRefusals, accountMaybe, b.Refused)
	s.counterOf(c.budgetRefusals, accountUnprocessed, b.RefusedUnprocessed)
}
