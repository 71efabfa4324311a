package poolprom

import (
	"cmp"
	"math"
	"slices"

	"example.com/connwise/pool"
)

// A key names a host as the labels do. Two hosts of a pool may have the same one: an origin that
// speaks HTTP/2 has another for requests that need HTTP/1, and proxies may differ in the
// credentials alone.
type key struct{ host, scheme, proxy string }

func keyOf(h *pool.HostStats) key { return key{h.Host, h.Scheme, h.Proxy} }

// books say which hosts have series of their own, and what their counters say. A counter must
// never go back, and not jump either when a host comes to have series, loses them, or is forgotten
// by the pool; as all of that is in the pool's total, "other" is what is left of the total.
type books struct {
	options Options
	named   map[key]*account
	// gone is what the counters of hosts said that have lost their series.
	gone pool.Totals
	// crowded says that there were hosts without series at the last scrape, so that one without may
	// have been in "other".
	crowded bool
	other   account
	scrape  uint64
	free    []candidate // kept for its memory
}

// An account is a host with series of its own, or "other".
type account struct {
	key    key
	labels []pair
	shown  pool.Totals // what its counters say
	last   pool.Totals // its Totals at the last scrape; zero if the pool had forgotten it
	now    pool.Totals
	seen   uint64           // the last scrape at which the pool had it
	hosts  []pool.HostStats // that have its key; valid during a scrape
	gauges gauges
}

// A candidate is a host without series. Hosts of the same key lie side by side in a snapshot.
type candidate struct {
	key   key
	hosts []pool.HostStats
	sent  uint64
}

func requestsOf(hosts []pool.HostStats) (n uint64) {
	for i := range hosts {
		n += hosts[i].Sent
	}
	return n
}

// update takes a snapshot in.
func (b *books) update(s *pool.Stats) {
	b.scrape++
	b.sort(s)
	for _, a := range b.named {
		if a.seen == b.scrape {
			a.advance()
		} else { // forgotten: should it come back, its counters begin anew
			a.last, a.hosts = pool.Totals{}, nil
		}
	}
	b.admit()
	b.balance(s)
}

// sort finds the hosts of each account, and collects those that have none.
func (b *books) sort(s *pool.Stats) {
	b.free = b.free[:0]
	for i := 0; i < len(s.Hosts); {
		k, j := keyOf(&s.Hosts[i]), i+1
		for j < len(s.Hosts) && keyOf(&s.Hosts[j]) == k {
			j++
		}
		if a := b.named[k]; a != nil {
			a.seen, a.hosts = b.scrape, s.Hosts[i:j]
		} else {
			b.free = append(b.free, candidate{k, s.Hosts[i:j], requestsOf(s.Hosts[i:j])})
		}
		i = j
	}
}

// advance adds what has happened since the last scrape. Where counters have begun anew in
// between, as one of the hosts was forgotten, nobody knows how much that was: it is left to "other".
func (a *account) advance() {
	reset(&a.now)
	a.gauges = gauges{}
	for i := range a.hosts {
		a.now.Add(&a.hosts[i].Totals)
		a.gauges.add(&a.hosts[i])
	}
	if !a.now.Restarted(&a.last) {
		a.shown.Add(&a.now)
		a.shown.Sub(&a.last)
	}
	a.now, a.last = a.last, a.now
}

// reset sets t to zero, and keeps its maps.
func reset(t *pool.Totals) {
	clear(t.IdleCloses)
	clear(t.ClosedBy)
	clear(t.IdleAges)
	*t = pool.Totals{IdleCloses: t.IdleCloses, ClosedBy: t.ClosedBy, IdleAges: t.IdleAges}
}

// admit gives series to candidates, those with the most requests first: while there is room, in place
// of hosts that the pool has forgotten, and in place of those with less than half as many.
func (b *books) admit() {
	rest := b.free
	if room := b.options.room(len(b.named)); len(rest) > 0 && (room > 0 || b.contested(rest)) {
		slices.SortFunc(rest, func(x, y candidate) int {
			return cmp.Or(cmp.Compare(y.sent, x.sent), cmp.Compare(x.key.host, y.key.host))
		})
		n := min(len(rest), max(room, 0))
		for i := range rest[:n] {
			b.open(&rest[i])
		}
		rest = b.replace(rest[n:])
	}
	b.other.gauges = gauges{}
	for i := range rest {
		for j := range rest[i].hosts {
			b.other.gauges.add(&rest[i].hosts[j])
		}
	}
	b.crowded = len(rest) > 0
}

// contested tells whether a candidate may have another's place, which is seldom.
func (b *books) contested(free []candidate) bool {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, a := range b.named {
		least = min(least, b.rank(a))
	}
	for i := range free {
		most = max(most, free[i].sent)
	}
	return displaces(most, least)
}

// displaces tells whether a host with so many requests has the place of one of that rank.
func displaces(sent, rank uint64) bool { return sent/2 >= rank }

// open gives c series. What it has done may be in "other": then its counters begin at zero.
func (b *books) open(c *candidate) {
	a := &account{key: c.key, hosts: c.hosts, seen: b.scrape}
	if b.crowded {
		for i := range c.hosts {
			a.last.Add(&c.hosts[i].Totals)
		}
	}
	a.advance()
	b.named[c.key] = a
}

// replace gives series to the first of free in place of others, and returns those that have none then.
func (b *books) replace(free []candidate) (rest []candidate) {
	held := make([]*account, 0, len(b.named))
	for _, a := range b.named {
		held = append(held, a)
	}
	slices.SortFunc(held, func(x, y *account) int {
		return cmp.Or(cmp.Compare(b.rank(x), b.rank(y)), cmp.Compare(x.seen, y.seen), cmp.Compare(x.key.host, y.key.host))
	})
	n := 0
	var out []candidate
	for ; n < min(len(free), len(held)) && displaces(free[n].sent, b.rank(held[n])); n++ {
		old := held[n]
		delete(b.named, old.key)
		b.gone.Add(&old.shown)
		if old.seen == b.scrape {
			out = append(out, candidate{old.key, old.hosts, requestsOf(old.hosts)})
		}
		b.open(&free[n])
	}
	if len(out) == 0 {
		return free[n:] // nearly always
	}
	return append(out, free[n:]...)
}

// rank is in which order hosts lose their series: those that the pool has forgotten first.
func (b *books) rank(a *account) uint64 {
	if a.seen != b.scrape {
		return 0
	}
	return requestsOf(a.hosts) + 1
}

// balance makes "other" what is left of the total.
func (b *books) balance(s *pool.Stats) {
	o := &b.other
	reset(&o.shown)
	o.shown.Add(&s.Total)
	o.shown.Sub(&b.gone)
	for _, a := range b.named {
		o.shown.Sub(&a.shown)
	}
}
