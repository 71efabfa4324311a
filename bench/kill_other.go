//go:build !linux

package bench

import (
	"errors"
	"net/netip"
)

// kill is for systems whose loopback has more than one address.
func kill(netip.AddrPort) (revive func(), err error) { return nil, errors.ErrUnsupported }
