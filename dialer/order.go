package dialer

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// maxAddrs bounds the addresses of a name that are tried. A name with more is a mistake or
// an attack, and each of them may cost a socket.
const maxAddrs = 64

// order returns the addresses of network's family without duplicates, the families in
// turn, beginning with that of the first (RFC 8305 section 4: so that a family that
// doesn't work costs one delay only). Within a family the order stays.
func order(ips []netip.Addr, network string) []netip.Addr {
	var v4, v6 []netip.Addr
	seen := make(map[netip.Addr]bool, len(ips))
	for _, ip := range ips {
		switch {
		case seen[ip]:
		case ip.Is4() && network != "tcp6":
			v4 = append(v4, ip)
		case ip.Is6() && network != "tcp4":
			v6 = append(v6, ip)
		}
		seen[ip] = true
	}
	a, b := v4, v6
	if len(v4) == 0 || len(v6) > 0 && slices.Index(ips, v6[0]) < slices.Index(ips, v4[0]) {
		a, b = v6, v4
	}
	return clip(interleave(a, b))
}

func interleave(a, b []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(a)+len(b))
	for len(a) > 0 {
		out = append(out, a[0])
		a, b = b, a[1:]
		if len(a) == 0 {
			a, b = b, a
		}
	}
	return out
}

func clip(ips []netip.Addr) []netip.Addr { return ips[:min(len(ips), maxAddrs)] }

// minStagger is the least delay between two addresses (RFC 8305 section 8).
const minStagger = 10 * time.Millisecond

// stagger returns the delay between the starts of n addresses, so that the last has half
// of the time left, which is zero for no limit.
func stagger(delay time.Duration, n int, left time.Duration) time.Duration {
	if delay <= 0 {
		delay = defaultFallbackDelay
	}
	if n < 2 || left <= 0 {
		return delay
	}
	return min(delay, max(left/2/time.Duration(n-1), minStagger))
}

// mainError picks the error that says most about why none of the addresses answered: the
// first, but not one that says that this host has no way to the address's family, if
// there is another.
func mainError(tries []Try) error {
	for _, t := range tries {
		if !errors.Is(t.Err, syscall.ENETUNREACH) && !errors.Is(t.Err, syscall.EADDRNOTAVAIL) &&
			!errors.Is(t.Err, syscall.EAFNOSUPPORT) {
			return t.Err
		}
	}
	if len(tries) == 0 {
		return errors.New("no address")
	}
	return tries[0].Err
}
