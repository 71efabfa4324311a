package bench

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"time"
)

// A plan is Options with names resolved and zeros replaced.
type plan struct {
	Options
	rows      []row
	target    *url.URL // nil: the peer
	warmBurst int      // Burst, in burst-warm
	skipped   []Skip
	own       Options // as they were given
}

// A row is a scenario over a protocol, with one size where it has sizes, and behind a proxy.
type row struct {
	scenario scenario
	proto    proto
	size     int
	proxy    *Proxy        // nil: none
	asked    ProxySetup    // of the proxy
	usual    time.Duration // how long it runs, if nothing else is said; zero: Duration
}

func (w row) String() string {
	s := w.scenario.name + " " + w.proto.name
	if w.proxy != nil {
		s += " " + w.proxy.Name
	}
	return s
}

func (w row) proxyName() string {
	if w.proxy == nil {
		return ""
	}
	return w.proxy.Name
}

func (o Options) plan() (*plan, error) { return o.planFor(openFiles()) }

// planFor is plan where a process may have so many files open.
func (o Options) planFor(descriptors int) (*plan, error) {
	p := &plan{Options: o, own: o}
	p.Workers = cmp.Or(o.Workers, 32)
	p.Burst = cmp.Or(o.Burst, 256)
	p.warmBurst = cmp.Or(o.Burst, 500)
	p.Rate = cmp.Or(o.Rate, 2000)
	p.Delay = cmp.Or(o.Delay, 5*time.Millisecond)
	rounds, idle := 3, 100*time.Millisecond
	if len(o.Proxies) > 0 {
		rounds, idle = 2, proxyIdle
	}
	p.Rounds = cmp.Or(o.Rounds, rounds)
	p.IdleTimeout = cmp.Or(o.IdleTimeout, idle)
	p.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Second)
	if o.Target != "" {
		p.Requests = cmp.Or(o.Requests, targetRequests)
	}
	if len(o.Clients) == 0 {
		p.Clients = DefaultClients()
	}
	if err := p.resolveTarget(); err != nil {
		return nil, err
	}
	if err := p.resolveClients(); err != nil {
		return nil, err
	}
	if err := p.resolveRows(); err != nil {
		return nil, err
	}
	if err := p.refuseEmpty(); err != nil {
		return nil, err
	}
	p.Duration = cmp.Or(o.Duration, p.plannedLength())
	if err := p.resolveLoad(o); err != nil {
		return nil, err
	}
	if err := p.checkNumbers(); err != nil {
		return nil, err
	}
	if p.Requests > 0 {
		p.Rounds = min(p.Rounds, p.Requests)
		p.Burst = min(p.Burst, int(p.share(p.Rounds-1)))
	}
	if err := p.fitSizes(descriptors); err != nil {
		return nil, err
	}
	return p, p.checkUses(o)
}

// targetRequests is what Requests is with a target when nothing else is said: the
// server is somebody's.
const targetRequests = 1000

// share returns how many of Requests a round may send, the last of them no fewer
// than the others.
func (p *plan) share(round int) int64 {
	if p.Requests == 0 {
		return math.MaxInt64
	}
	n := int64(p.Requests)
	return n*int64(round+1)/int64(p.Rounds) - n*int64(round)/int64(p.Rounds)
}

// mostOpen bounds the calls under way, and so the connections: each takes a descriptor
// in both processes.
const mostOpen = 10_000

// checkNumbers keeps the run within what one machine's loopback can take.
func (p *plan) checkNumbers() error {
	for _, n := range []struct {
		option string
		value  int
		most   int
	}{{"workers", p.Workers, mostOpen}, {"burst", p.Burst, mostOpen}, {"rate", p.Rate, 100_000}, {"rounds", p.Rounds, 100}} {
		if n.value < 1 || n.value > n.most {
			return &UsageError{Option: n.option, Value: fmt.Sprint(n.value), Reason: fmt.Sprintf("must be 1 to %d", n.most)}
		}
	}
	if p.Requests < 0 {
		return &UsageError{Option: "requests", Value: fmt.Sprint(p.Requests), Reason: "must be 0 (no bound) or more"}
	}
	if p.MaxConns < 0 {
		return &UsageError{Option: "max-conns", Value: fmt.Sprint(p.MaxConns), Reason: "must be 0 (no limit) or more"}
	}
	for _, d := range []struct {
		option string
		value  time.Duration
		most   time.Duration
	}{{"duration", p.Duration, time.Hour}, {"call-timeout", p.CallTimeout, time.Hour}, {"max-wait", p.MaxWait, time.Hour}, {"delay", p.Delay, 10 * time.Second}} {
		if d.value < 0 || d.value > d.most {
			return &UsageError{Option: d.option, Value: d.value.String(), Reason: "must be more than 0 and at most " + short(d.most)}
		}
	}
	if p.IdleTimeout < 20*time.Millisecond || p.IdleTimeout > time.Minute {
		return &UsageError{Option: "idle-timeout", Value: p.IdleTimeout.String(), Reason: "must be 20ms to 1m"}
	}
	return nil
}

// short is d.String without minutes and seconds of zero.
func short(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

func (p *plan) resolveTarget() error {
	if p.Target == "" {
		return nil
	}
	u, err := url.Parse(p.Target)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// url.Parse's error would repeat the URL, credentials included.
		return &UsageError{Option: "target", Value: redact(u), Reason: "must be a URL like http://host:port/path or https://host/path"}
	}
	p.target = u
	return nil
}

// redact writes a URL without what may be secret: a user and password, and the query.
func redact(u *url.URL) string {
	if u == nil {
		return "..."
	}
	shown := *u
	if shown.User != nil {
		shown.User = url.User("xxxxx")
	}
	if shown.RawQuery != "" {
		shown.RawQuery = "xxxxx"
	}
	return shown.String()
}
