package bench

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	reloadEvery = time.Second
	proxyDelay  = 5 * time.Millisecond // each way, so that requests and a proxy's FIN cross

	// proxyIdle is the proxies' idle timeout in idle-race where none is given, and calmIdle
	// the one where nothing shall come of it.
	proxyIdle = time.Second
	calmIdle  = time.Minute
)

// A proxied scenario is one that runs behind real proxies.
type proxied struct {
	scenario
	// usual is how long its rows run if nothing else is said.
	usual time.Duration
	// asks is what the proxy has to be told; or lacks says why it can't run behind that.
	asks func(p *plan, x Proxy, q proto) (s ProxySetup, lacks string)
}

// proxiedScenarios are all of them, in the table's order. The faults are the peer's behind the
// proxy, but for idle, which says to clients what the proxy's timeout is.
var proxiedScenarios = []proxied{
	{
		scenario: scenario{
			name:    "idle-race",
			about:   "POSTs with pauses of 0.5 to 1.1 of the proxy's idle timeout (--idle-timeout, 1s), each caller on a client of its own, 8 callers for each of --workers. A relay makes the way to the proxy 5 ms longer each way; its CPU and allocations are in the figures of all clients alike",
			protos:  []string{"h1", "h1s", "h2"},
			quick:   []string{"h1", "h2"},
			faults:  func(p *plan) faults { return faults{idle: p.IdleTimeout} },
			callers: func(p *plan) int { return min(8*p.Workers, mostOpen/4) },
			run:     idleRace,
		},
		usual: 5 * time.Second,
		asks: func(p *plan, _ Proxy, _ proto) (ProxySetup, string) {
			return ProxySetup{IdleTimeout: p.IdleTimeout, Delay: proxyDelay}, ""
		},
	},
	{
		scenario: scenario{
			name:    "restart",
			about:   "POSTs and GETs while the proxy reloads its configuration each second, at moments of its own: over HTTP/1.1 a request can cross a FIN on the wire, and nobody can tell it then from one that was executed. The peer takes 1 ms to answer",
			protos:  []string{"h1", "h1s", "h2"},
			quick:   []string{"h1", "h2"},
			traced:  true,
			faults:  func(*plan) faults { return faults{idle: calmIdle, delay: time.Millisecond} },
			callers: func(p *plan) int { return p.Workers },
			loads:   true,
			run:     proxyRestart,
		},
		usual: 4 * time.Second,
		asks: func(_ *plan, x Proxy, _ proto) (ProxySetup, string) {
			return ProxySetup{IdleTimeout: calmIdle}, x.lacksReload()
		},
	},
	{
		scenario: scenario{
			name:    "keepalive-requests",
			about:   "POSTs to a proxy that ends each connection behind its 100th request, and says so with Connection: close. Over HTTP/2 that's goaway",
			protos:  []string{"h1", "h1s"},
			quick:   []string{"h1"},
			faults:  func(*plan) faults { return faults{idle: calmIdle} },
			callers: func(p *plan) int { return p.Workers },
			loads:   true,
			run:     goaway,
		},
		usual: 2 * time.Second,
		asks: func(_ *plan, x Proxy, q proto) (ProxySetup, string) {
			return ProxySetup{IdleTimeout: calmIdle, Requests: goAwayEvery}, x.lacksLimit(q)
		},
	},
	{
		scenario: scenario{
			name:    "goaway",
			about:   "POSTs while the proxy ends its connections by GOAWAY, each in its own way: with the 100th request where it has such a limit over HTTP/2, else by a reload each second. The peer takes 1 ms to answer",
			protos:  []string{"h2"},
			quick:   []string{"h2"},
			traced:  true,
			faults:  func(*plan) faults { return faults{idle: calmIdle, delay: time.Millisecond} },
			callers: func(p *plan) int { return p.Workers },
			loads:   true,
			run:     proxyGoAway,
		},
		usual: 3 * time.Second,
		asks: func(_ *plan, x Proxy, q proto) (ProxySetup, string) {
			if x.lacksLimit(q) == "" {
				return ProxySetup{IdleTimeout: calmIdle, Requests: goAwayEvery}, ""
			}
			return ProxySetup{IdleTimeout: calmIdle}, x.lacksReload()
		},
	},
}

// ProxiedScenarioNames returns the names of the scenarios that run behind Options.Proxies.
func ProxiedScenarioNames() []string {
	return namesOf(proxiedScenarios, func(s proxied) string { return s.name })
}

// AboutProxied returns a sentence on such a scenario; empty for an unknown name.
func AboutProxied(name string) string {
	for _, s := range proxiedScenarios {
		if s.name == name {
			return s.about
		}
	}
	return ""
}

// RunsProxied says whether a client has any row behind proxies.
func RunsProxied(c Client) bool {
	return slices.ContainsFunc(proxiedScenarios, func(s proxied) bool {
		return slices.ContainsFunc(protos, func(q proto) bool { return slices.Contains(s.protos, q.name) && c.has(s.scenario, q) })
	})
}

func (x Proxy) lacksReload() string {
	if x.Reloads {
		return ""
	}
	return x.Name + " can't reload"
}

func (x Proxy) lacksLimit(q proto) string {
	if slices.Contains(x.Limits, q.name) {
		return ""
	}
	return x.Name + " has no limit on the requests of a connection over " + q.name
}

// proxyRestart makes calls while the proxy reloads.
func proxyRestart(ctx context.Context, r *rig) error {
	return r.whileItReloads(func() {
		r.mixed(ctx, func(c *caller, method string, due time.Time) { c.callDue(ctx, method, due) })
	})
}

// proxyGoAway keeps all callers busy. Where the proxy counts requests, that does the rest.
func proxyGoAway(ctx context.Context, r *rig) error {
	if r.asked.Requests > 0 {
		return goaway(ctx, r)
	}
	return r.whileItReloads(func() { r.busy(ctx, http.MethodPost) })
}

// whileItReloads measures f while the proxy reloads, for the first time in the middle of
// reloadEvery or of a round that is shorter.
func (r *rig) whileItReloads(f func()) error {
	var err error
	var reloads sync.WaitGroup
	r.measure(func() {
		stop := make(chan struct{})
		defer close(stop)
		reloads.Go(func() { err = r.reloadUntil(stop) })
		f()
	})
	reloads.Wait() // for one that has begun
	return err
}

func (r *rig) reloadUntil(stop <-chan struct{}) error {
	timer := time.NewTimer(min(reloadEvery, r.length) / 2)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-timer.C:
		}
		timer.Reset(reloadEvery)
		if err := r.front.Reload(); err != nil {
			return err
		}
	}
}
