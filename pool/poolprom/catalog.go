package poolprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/connwise/pool"
)

// A catalog has what a pool's metrics are called.
type catalog struct {
	all []*prometheus.Desc

	hosts *prometheus.Desc // the only one without a host

	// Gauges.
	info, connections, connLimit, waiting, waitLimit, window *prometheus.Desc
	idleLimit, learnt, roundTrip                             *prometheus.Desc
	streams, streamLimit, pingRoundTrip                      *prometheus.Desc

	// Counters, but for those of plain.
	requests, dialFailures, closed, idleAges, idleCloses, confirmations *prometheus.Desc
	waits, dials                                                        *prometheus.Desc // histograms
	plain                                                               []plainCounter
}

// A plainCounter has no label but the host's.
type plainCounter struct {
	desc *prometheus.Desc
	of   func(*pool.Totals) uint64
}

func newCatalog(o Options) *catalog {
	c := &catalog{}
	def := func(name, help string, labels ...string) *prometheus.Desc {
		labels = append([]string{"host", "scheme", "proxy"}, labels...)
		return c.define(o, name, help, labels)
	}
	c.hosts = c.define(o, "hosts", "Hosts that the pool remembers.", nil)
	c.info = def("host_info", "What a host was found to speak: protocol is HTTP/1.1 or HTTP/2.0. The value is 1.", "protocol")
	c.connections = def("connections", "Connections by state: idle, in_use, or dialing, which are being opened.", "state")
	c.connLimit = def("connections_limit", "Most connections, open and dialing together. Absent: no limit.")
	c.waiting = def("waiting_requests", "Requests that wait for a connection.")
	c.waitLimit = def("wait_limit_seconds", "How long a request may wait for capacity. Absent: until its context ends.")
	c.window = def("dial_window", "Dials that may be under way: it grows while dials are fast, and shrinks while they are slow or fail.")
	c.idleLimit = def("idle_limit_seconds", "How long a connection may be idle and still be used, by where that comes from: configured, announced, learnt, transport or none. 0: no limit.", "source")
	c.learnt = def("learnt_idle_timeout_seconds", "After how long the peer was seen to close idle connections. Absent: nothing was learnt.")
	c.roundTrip = def("round_trip_seconds", "The shortest round trip of TCP to the peer. Absent before the first dial.")
	c.streams = def("streams", "HTTP/2: requests that hold a stream.")
	c.streamLimit = def("streams_limit", "HTTP/2: requests that the open connections take at a time, as their peers say.")
	c.pingRoundTrip = def("ping_round_trip_seconds", "HTTP/2: the longest of the open connections' last PING round trips. Absent: none was answered.")
	c.defineCounters(def)
	return c
}

func (c *catalog) define(o Options, name, help string, labels []string) *prometheus.Desc {
	d := prometheus.NewDesc(prometheus.BuildFQName(o.namespace(), "pool", name), help, labels, o.ConstLabels)
	c.all = append(c.all, d)
	return d
}

func (c *catalog) defineCounters(def func(name, help string, labels ...string) *prometheus.Desc) {
	c.requests = def("requests_total", "Requests given to a connection, replacements included: a new one, or a reused one that had carried a request before.", "connection")
	c.dialFailures = def("dial_failures_total", "Dials that ended in an error, by stage: resolve, connect, proxy or tls; or abandoned, as nobody waited for them any more.", "stage")
	c.closed = def("connections_closed_total", "Connections closed, by reason.", "reason")
	c.idleAges = def("close_idle_age_seconds", "How long connections had been idle when they were closed, by reason. Those closed in use don't count.", "reason")
	c.idleCloses = def("peer_idle_closes_total", "Idle connections that the peer closed, by how: fin, reset, close_notify, 408, surplus, goaway or unknown.", "how")
	c.confirmations = def("confirmations_total", "Requests whose connection was asked for a sign of life, by result: answered or unanswered.", "result")
	c.waits = def("wait_duration_seconds", "How long requests that had to wait for a connection, or a dial, waited until they had one or gave up.")
	c.dials = def("dial_duration_seconds", "How long dials that opened a connection took, TLS included.")
	plain := func(name, help string, of func(*pool.Totals) uint64) {
		c.plain = append(c.plain, plainCounter{def(name, help), of})
	}
	plain("request_failures_total", "Round trips that ended in an error. A retry over the pool may have made them good.", func(t *pool.Totals) uint64 { return t.Failed })
	plain("replacements_total", "Requests sent again silently: their connection took no byte, or the peer refused them.", func(t *pool.Totals) uint64 { return t.Replaced })
	plain("refusals_total", "HTTP/2: requests that the peer said it did not process.", func(t *pool.Totals) uint64 { return t.Refused })
	plain("goaways_total", "HTTP/2: connections on which the peer sent GOAWAY.", func(t *pool.Totals) uint64 { return t.GoAways })
	plain("stale_connections_total", "Idle connections found dead by the look before reuse.", func(t *pool.Totals) uint64 { return t.Stale })
	plain("dials_total", "Dials started.", func(t *pool.Totals) uint64 { return t.Dials })
	plain("dials_unused_total", "Dials whose connection nobody was waiting for any more.", func(t *pool.Totals) uint64 { return t.DialsUnused })
	plain("dials_ahead_total", "Dials that no request asked for: to warm up, to keep idle connections, and for successors.", func(t *pool.Totals) uint64 { return t.DialsAhead })
	plain("connections_opened_total", "Connections opened.", func(t *pool.Totals) uint64 { return t.Opened })
	plain("wait_timeouts_total", "Requests that waited for too long, or found too many waiting.", func(t *pool.Totals) uint64 { return t.WaitTimeouts })
}
