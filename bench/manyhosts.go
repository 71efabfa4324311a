package bench

import (
	"context"
	"fmt"
	"net/http"

	"example.com/connwise/internal/peer"
)

// manyHosts shows what hosts cost: its rows differ by how many there are.
var manyHosts = scenario{
	name:    "hosts",
	about:   "closed loop of small GETs to 1, 100 or 10000 hosts in turn, each with a warm connection; one row for each of these sizes. All names lead to one peer. With so many connections the kernel and the processor's caches take more for each request, whatever the client does: the floor's row says how much. Where the scenario isn't named, over TLS up to 100 hosts and over h2c up to 1000",
	loads:   true,
	sizes:   hostSizes,
	faults:  func(*plan) faults { return faults{} },
	callers: func(p *plan) int { return p.Workers },
	names:   func(r *rig) (*names, error) { return &names{hosts: hostNames(r.size)}, nil },
	run:     amongHosts,
}

func hostSizes(q proto, named bool) []int {
	switch {
	case named, q.name == "h1":
		return []int{1, 100, 10_000}
	case q.tls:
		return []int{1, 100}
	}
	return []int{1, 100, 1000}
}

func hostNames(n int) []string {
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("h%d.%s", i, peer.Domain)
	}
	return hosts
}

// amongHosts makes one call to each host, and keeps the callers busy with calls to all in turn.
func amongHosts(ctx context.Context, r *rig) error {
	if err := r.prime(ctx, r.size, (*caller).visit); err != nil {
		return err
	}
	r.wave(ctx, r.take(r.callers), http.MethodGet)
	r.measure(func() { r.busy(ctx, http.MethodGet) })
	return nil
}

// visit makes a whole GET: nothing is left to end.
func (c *caller) visit(ctx context.Context) (end func() error, err error) {
	c.call(ctx, http.MethodGet)
	return nil, nil
}
