package main

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/connwise/internal/sidecar"
	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"
)

// A proxyMetrics serves /metrics of a sidecar: its own counters, the process's, and those of the
// pool and the policy in force, which begin anew when a reload has replaced them.
type proxyMetrics struct {
	p   *sidecar.Proxy
	own *prometheus.Registry

	mu   sync.Mutex // guards what follows
	pool *pool.Transport
	reg  *prometheus.Registry // of pool
}

func newProxyMetrics(p *sidecar.Proxy) http.Handler {
	m := &proxyMetrics{p: p, own: prometheus.NewRegistry()}
	m.own.MustRegister(proxyCollector{p}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *proxyMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(prometheus.Gatherers{m.own, m.current()}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// current returns the registry of the pool in force. A collector of one pool must not see another,
// whose counters are lower.
func (m *proxyMetrics) current() *prometheus.Registry {
	p, rt := m.p.Transports()
	m.mu.Lock()
	defer m.mu.Unlock()
	if p != m.pool {
		m.pool, m.reg = p, prometheus.NewRegistry()
		m.reg.MustRegister(poolprom.New(p, poolprom.Options{}), poolprom.NewRetry(rt, poolprom.Options{}))
	}
	return m.reg
}

// proxyCollector collects a sidecar's Counters.
type proxyCollector struct{ p *sidecar.Proxy }

var (
	descRequests = prometheus.NewDesc("connwise_proxy_requests_total", "Requests that clients have sent.", nil, nil)
	descActive   = prometheus.NewDesc("connwise_proxy_requests_in_flight", "Requests under way, upgraded connections included.", nil, nil)
	descFailures = prometheus.NewDesc("connwise_proxy_failures_total",
		"Requests that the upstream hasn't answered, by the status of the proxy's own answer. 503: provably unprocessed. 499: the client had left.",
		[]string{"status"}, nil)
	descStreamed = prometheus.NewDesc("connwise_proxy_bodies_streamed_total", "Request bodies that weren't kept to be sent again.", nil, nil)
	descBroken   = prometheus.NewDesc("connwise_proxy_answers_broken_off_total", "Answers of the upstream that broke off, and with them the client's connection.", nil, nil)
	descReplay   = prometheus.NewDesc("connwise_proxy_replay_bytes", "Memory that is reserved for request bodies.", nil, nil)
	descReloads  = prometheus.NewDesc("connwise_proxy_reloads_total", "Reloads, by whether the settings were taken.", []string{"result"}, nil)
)

func (c proxyCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descRequests, descActive, descFailures, descStreamed, descBroken, descReplay, descReloads} {
		ch <- d
	}
}

func (c proxyCollector) Collect(ch chan<- prometheus.Metric) {
	n := c.p.Counters()
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	counter(descRequests, n.Requests)
	counter(descStreamed, n.Streamed)
	counter(descBroken, n.BrokenOff)
	counter(descReloads, n.Reloads-n.ReloadsFailed, "ok")
	counter(descReloads, n.ReloadsFailed, "refused")
	for _, status := range []int{400, 499, 502, 503, 504} {
		counter(descFailures, n.Failures[status], strconv.Itoa(status))
	}
	ch <- prometheus.MustNewConstMetric(descActive, prometheus.GaugeValue, float64(n.Active))
	ch <- prometheus.MustNewConstMetric(descReplay, prometheus.GaugeValue, float64(n.ReplayBytes))
}
