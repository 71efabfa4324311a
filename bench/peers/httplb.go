package main

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/bufbuild/httplb"
	"github.com/bufbuild/httplb/health"
	"github.com/bufbuild/httplb/resolver"

	"example.com/connwise/bench"
)

// httpLB spreads requests over the addresses of a name, over a Transport for each.
func httpLB() bench.Client {
	return bench.Client{
		Name:   "httplb",
		Module: "github.com/bufbuild/httplb",
		Note:   "github.com/bufbuild/httplb: NewClient with WithIdleConnectionTimeout below the server's, as its documentation says, WithResolver and WithTLSConfig; WithTransport puts net/http's settings of this bench in the place of its own Transport for an address, which would keep 1 idle connection and so dial for most requests over HTTP/1.1. round robin over addresses, as is its default; in deadaddr WithHealthChecks, a GET every second to each address, as otherwise it sends what is an address's share to a dead one. It retries nothing itself",
		New: func(s bench.Setup) (http.RoundTripper, error) {
			names := resolver.NewDNSResolver(cmp.Or(s.Resolver, net.DefaultResolver), resolver.PreferIPv4, 5*time.Minute)
			options := []httplb.ClientOption{
				httplb.WithIdleConnectionTimeout(s.IdleLimit()),
				httplb.WithResolver(names),
				httplb.WithTLSConfig(&tls.Config{RootCAs: s.Roots}, 10*time.Second),
				httplb.WithTransport("http", leaf{s}),
				httplb.WithTransport("https", leaf{s}),
			}
			if s.Resolver != nil && s.Size == 0 { // a name, and not one of many
				options = append(options, httplb.WithHealthChecks(looks()))
			}
			c := httplb.NewClient(options...)
			return &balanced{RoundTripper: c.Transport, client: c}, nil
		},
	}
}

// looks finds out which addresses work. One that doesn't answer within half a second doesn't.
func looks() health.Checker {
	every := health.PollingCheckerConfig{PollingInterval: time.Second, Timeout: time.Second / 2}
	return health.NewPollingChecker(every, health.NewSimpleProber("/"))
}

// A leaf makes the Transport for an address.
type leaf struct{ setup bench.Setup }

// NewRoundTripper returns net/http's Transport of the bench, with what httplb asks for. It
// dials like httplb's default: 30 s at most, and the address is no name any more.
func (l leaf) NewRoundTripper(_, _ string, c httplb.TransportConfig) httplb.RoundTripperResult {
	t := l.setup.Transport()
	if l.setup.Target {
		t.Proxy, t.GetProxyConnectHeader = c.ProxyFunc, c.ProxyConnectHeadersFunc
	}
	t.TLSClientConfig, t.TLSHandshakeTimeout = c.TLSClientConfig, c.TLSHandshakeTimeout
	t.IdleConnTimeout = cmp.Or(c.IdleConnTimeout, t.IdleConnTimeout)
	t.MaxResponseHeaderBytes, t.DisableCompression = c.MaxResponseHeaderBytes, c.DisableCompression
	return httplb.RoundTripperResult{RoundTripper: t, Close: t.CloseIdleConnections}
}

// A balanced is the client's Transport, which has no Close of its own.
type balanced struct {
	http.RoundTripper
	client *httplb.Client
}

// CloseIdleConnections closes those of all Transports.
func (b *balanced) CloseIdleConnections() { b.client.CloseIdleConnections() }

// Close waits for the calls under way and closes everything.
func (b *balanced) Close() error { return b.client.Close() }
