package poolprom

import (
	"sync"

	"example.com/connwise/pool"

	"github.com/prometheus/client_golang/prometheus"
)

// otherHost is the host of the series that sum those without their own. No real one is
// called so: a host has a port, or a path.
const otherHost = "other"

// A Collector is a prometheus.Collector of one pool. It may be registered in several registries,
// and scraped by several servers at the same time.
type Collector struct {
	src   pool.StatsSource
	names *catalog
	fixed []pair // of Options.ConstLabels

	// mu guards what follows, and is held during a scrape: the books are to follow each other.
	mu      sync.Mutex
	stats   pool.Stats // its memory is used again
	bounds  *[]float64
	books   books
	reasons *words
	hows    *words
	sources *words
	protos  map[string]pair
	others  bool // "other" has series, and keeps them
}

// New returns a collector of src, a *pool.Transport or a *pool.Guard. It takes no snapshot before
// the first scrape, and needs no end.
func New(src pool.StatsSource, o Options) *Collector {
	c := &Collector{
		src:     src,
		names:   newCatalog(o),
		fixed:   constPairs(o.ConstLabels),
		books:   books{options: o, named: make(map[key]*account)},
		reasons: newWords("reason"),
		hows:    newWords("how"),
		sources: newWords("source"),
		protos:  make(map[string]pair),
	}
	c.books.other.labels = c.label(key{host: otherHost})
	return c
}

// Describe sends the descriptions of all metrics.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.names.all {
		ch <- d
	}
}

// Collect takes one snapshot and sends it.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	c.books.update(&c.stats)
	s := &sink{ch: ch, labels: c.fixed}
	s.gauge(c.names.hosts, float64(len(c.stats.Hosts)))
	for _, a := range c.books.named {
		if a.labels == nil {
			a.labels = c.label(a.key)
		}
		s.labels = a.labels
		if a.hosts != nil {
			c.showGauges(s, &a.gauges)
			c.showHost(s, a)
		}
		c.showCounters(s, &a.shown)
	}
	c.showOther(s)
}

// read takes the snapshot, in the last one's memory if the source can do that.
func (c *Collector) read() {
	if r, ok := c.src.(interface{ ReadStats(*pool.Stats) }); ok {
		r.ReadStats(&c.stats)
	} else {
		c.stats = c.src.Stats()
	}
	if c.bounds == nil {
		c.bounds = inSeconds(c.stats.Bounds[:])
	}
}

// showOther shows the sum of the hosts without series, once there was something to sum.
func (c *Collector) showOther(s *sink) {
	o := &c.books.other
	c.others = c.others || c.books.crowded || o.shown.Dials > 0 || o.shown.Failed > 0
	if !c.others {
		return
	}
	s.labels = o.labels
	c.showGauges(s, &o.gauges)
	c.showCounters(s, &o.shown)
}

// label are the labels of a host's series.
func (c *Collector) label(k key) []pair {
	ps := c.fixed
	for _, p := range []pair{newPair("host", k.host), newPair("scheme", k.scheme), newPair("proxy", k.proxy)} {
		ps = with(ps, p)
	}
	return ps
}

func (c *Collector) protocol(p string) pair {
	if c.protos[p] == nil {
		c.protos[p] = newPair("protocol", p)
	}
	return c.protos[p]
}
