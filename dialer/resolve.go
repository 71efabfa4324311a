package dialer

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"

	"example.com/connwise/internal/untrace"
)

// resolve returns the addresses to connect to, in the order to try them: addr itself if
// there is nothing to look up.
func (d *Dialer) resolve(ctx context.Context, network, addr string) ([]string, error) {
	switch network {
	case "unix":
		return []string{addr}, nil
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return []string{addr}, nil
	}
	inner, cancel := within(ctx, StageResolve, limit(d.ResolveTimeout, defaultResolveTimeout))
	defer cancel()
	ips, err := d.lookup(inner, host)
	if err != nil {
		return nil, asDNSError(host, because(ctx, inner, err))
	}
	if ips = order(ips, network); len(ips) == 0 {
		return nil, &net.DNSError{Err: "no suitable address", Name: host, IsNotFound: true}
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip.String(), port)
	}
	return addrs, nil
}

// lookup asks the resolver. A *net.Resolver calls a trace's DNS hooks by itself; for
// others it's done here.
func (d *Dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	switch r := d.Resolver.(type) {
	case nil:
		return lookupNet(ctx, net.DefaultResolver, host)
	case *net.Resolver:
		return lookupNet(ctx, r, host)
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.DNSStart != nil {
		trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	}
	names, err := await(ctx, func() ([]string, error) { return d.Resolver.LookupHost(ctx, host) }, nil)
	ips := parseAddrs(names)
	if trace != nil && trace.DNSDone != nil {
		trace.DNSDone(httptrace.DNSDoneInfo{Addrs: ipAddrs(ips), Err: err})
	}
	return ips, err
}

func lookupNet(ctx context.Context, r *net.Resolver, host string) ([]netip.Addr, error) {
	found, err := r.LookupIPAddr(lookupTrace(ctx), host)
	if err != nil {
		return nil, err
	}
	ips := make([]netip.Addr, 0, len(found))
	for _, a := range found {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ips = append(ips, ip.Unmap().WithZone(a.Zone))
		}
	}
	return ips, nil
}

// lookupTrace returns ctx with the DNS hooks of its trace alone. The connections that a
// resolver makes to its name servers are none of the request's (golang/go#16345).
func lookupTrace(ctx context.Context) context.Context {
	t := httptrace.ContextClientTrace(ctx)
	if t == nil {
		return ctx
	}
	dns := &httptrace.ClientTrace{DNSStart: t.DNSStart, DNSDone: t.DNSDone}
	if dns.DNSStart == nil {
		dns.DNSStart = func(httptrace.DNSStartInfo) {} // else ctx's own network hooks would stay in force
	}
	return httptrace.WithClientTrace(untrace.Context(ctx), dns)
}

// parseAddrs leaves out what isn't an address.
func parseAddrs(names []string) []netip.Addr {
	ips := make([]netip.Addr, 0, len(names))
	for _, s := range names {
		if ip, err := netip.ParseAddr(s); err == nil {
			ips = append(ips, ip.Unmap())
		}
	}
	return ips
}

func ipAddrs(ips []netip.Addr) []net.IPAddr {
	as := make([]net.IPAddr, len(ips))
	for i, ip := range ips {
		as[i] = net.IPAddr{IP: ip.AsSlice(), Zone: ip.Zone()}
	}
	return as
}

// asDNSError makes sure that errors.As finds a *net.DNSError, whatever the resolver
// returns.
func asDNSError(host string, err error) error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return err
	}
	return &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: host, IsTimeout: isTimeout(err)}
}
