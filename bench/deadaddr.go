package bench

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"example.com/connwise/internal/peer"
)

// deadAddr is a name with addresses that don't all work, as for minutes after a host has died.
var deadAddr = scenario{
	name:   "deadaddr",
	quick:  []string{"h1"},
	least:  func(*plan) time.Duration { return time.Second },
	about:  "three POSTs to a GET in a closed loop to a name with three addresses: one works, one is dead (it drops SYNs), one refuses connections. The name server gives out another one of them first each time. The peer ends each connection with its 20th request, announced, so that there are new ones all the time. A call may take 1 s. On Linux only",
	linux:  true,
	loads:  true,
	timed:  true,
	limit:  time.Second,
	traced: true,
	faults: func(*plan) faults {
		return faults{perConn: 20, more2: func(f *peer.H2Faults) { f.GoAway = peer.H2GoAway{} }}
	},
	callers: func(p *plan) int { return p.Workers },
	names:   deadNames,
	run: func(ctx context.Context, r *rig) error {
		r.measure(func() { r.driveMixed(ctx) })
		return nil
	},
}

// deadNames kills an address of the peer's port, and leaves nobody at another.
func deadNames(r *rig) (*names, error) {
	at, err := netip.ParseAddrPort(r.urls[0].Host)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	dead, nobody := netip.AddrFrom4([4]byte{127, 0, 0, 66}), netip.AddrFrom4([4]byte{127, 0, 0, 67})
	revive, err := kill(netip.AddrPortFrom(dead, at.Port()))
	if err != nil {
		return nil, fmt.Errorf("bench: no dead address: %w", err)
	}
	return &names{
		hosts: []string{"dead." + peer.Domain},
		addrs: inTurns(at.Addr(), dead, nobody),
		end:   revive,
	}, nil
}
