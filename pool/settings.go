package pool

import (
	"cmp"
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/internal/h1"
	"example.com/connwise/internal/h2"
)

// settings is what a Transport works with: a checked copy of its Config, with
// every default filled in. It never changes.
type settings struct {
	Config // MaxIdlePerHost, MaxConnsPerHost and Jitter have their defaults; Base isn't used any more

	proxy              func(*http.Request) (*url.URL, error)
	disableKeepAlives  bool
	disableCompression bool
	maxIdle            int           // idle connections of all hosts; zero: no bound
	idleConnTimeout    time.Duration // Base.IdleConnTimeout
	h1                 h1.Options
	h2                 h2.Options
	https, plain       protocols
	confirms           bool         // ConfirmAfter is set, for some host at least
	oneConn            bool         // HTTP2.StrictMaxConcurrentRequests: no second one for want of streams
	route              dialer.Route // what all routes share; Addr, TLS and Proxy are filled in per host
	tls, tls1          *tls.Config  // for https hosts, tls1 for requests that need HTTP/1; cloned by the dialer
	dialer             dialer.Dialer
}

// defaultBase is Config.Base when it is nil: http.DefaultTransport's settings, with
// the dialer's own connect stage and room for the idle connections of a busy service.
func defaultBase() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		MaxIdleConns:          1024,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

func newSettings(cfg Config) (*settings, error) {
	base := cfg.Base
	if base == nil {
		base = defaultBase()
	}
	if err := checkConfig(&cfg, base); err != nil {
		return nil, err
	}
	s := &settings{
		Config:             cfg,
		proxy:              base.Proxy,
		disableKeepAlives:  base.DisableKeepAlives,
		disableCompression: base.DisableCompression,
		maxIdle:            base.MaxIdleConns,
		idleConnTimeout:    base.IdleConnTimeout,
		h1: h1.Options{
			MaxHeaderBytes:  base.MaxResponseHeaderBytes,
			HeaderTimeout:   base.ResponseHeaderTimeout,
			ContinueTimeout: base.ExpectContinueTimeout,
			WriteStall:      cfg.WriteStallTimeout,
			ReadStall:       cfg.ReadStallTimeout,
			ReadBufferSize:  base.ReadBufferSize,
			WriteBufferSize: base.WriteBufferSize,
		},
		h2: http2Options(&cfg, base),
	}
	s.https, s.plain = protocolsOf(base)
	s.oneConn = base.HTTP2 != nil && base.HTTP2.StrictMaxConcurrentRequests
	s.tls, s.tls1 = tlsConfig(base, s.https), tlsConfig(base, protocols{http1: true})
	s.Base = nil
	s.Trace = cfg.Trace.clone()
	s.MaxIdlePerHost = cmp.Or(cfg.MaxIdlePerHost, base.MaxIdleConnsPerHost)
	s.MaxConnsPerHost = cmp.Or(cfg.MaxConnsPerHost, base.MaxConnsPerHost)
	s.Hosts = make(map[string]HostConfig, len(cfg.Hosts))
	s.confirms = cfg.ConfirmAfter > 0
	for addr, hc := range cfg.Hosts {
		s.confirms = s.confirms || hc.ConfirmAfter > 0
		s.Hosts[canonicalAddr("", addr)] = hc
	}
	if s.Jitter == nil {
		s.Jitter = rand.Float64
	}
	if cfg.Dialer != nil {
		s.dialer = *cfg.Dialer
	}
	if s.dialer.Memory == nil {
		s.dialer.Memory = new(dialer.Memory)
	}
	s.dialer.TLSTimeout = cmp.Or(s.dialer.TLSTimeout, base.TLSHandshakeTimeout)
	s.route = baseRoute(base)
	return s, nil
}

// baseRoute takes Base's dial and proxy hooks. Dial and DialTLS are honoured where
// their context forms are not set, as net/http does.
func baseRoute(base *http.Transport) dialer.Route {
	r := dialer.Route{
		ProxyHeader:     base.ProxyConnectHeader.Clone(),
		GetProxyHeader:  base.GetProxyConnectHeader,
		OnProxyResponse: base.OnProxyConnectResponse,
		Connect:         base.DialContext,
		ConnectTLS:      base.DialTLSContext,
	}
	//lint:ignore SA1019 the deprecated forms are honoured, as net/http does
	if dial := base.Dial; r.Connect == nil && dial != nil {
		r.Connect = func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
	}
	//lint:ignore SA1019 as above
	if dial := base.DialTLS; r.ConnectTLS == nil && dial != nil {
		r.ConnectTLS = func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
	}
	return r
}

// protocols are those that may be spoken with a scheme's origins.
func (s *settings) protocols(scheme string) protocols {
	if scheme == "https" {
		return s.https
	}
	return s.plain
}

// forHost is the Config's view of one host.
func (s *settings) forHost(addr string) HostConfig {
	hc := s.Hosts[addr]
	hc.ProxyIdleTimeout = cmp.Or(hc.ProxyIdleTimeout, s.ProxyIdleTimeout)
	hc.IdleMargin = cmp.Or(hc.IdleMargin, s.IdleMargin)
	hc.ConfirmAfter = cmp.Or(hc.ConfirmAfter, s.ConfirmAfter)
	hc.MaxIdlePerHost = cmp.Or(hc.MaxIdlePerHost, s.MaxIdlePerHost)
	hc.MinIdlePerHost = cmp.Or(hc.MinIdlePerHost, s.MinIdlePerHost)
	hc.MaxRequestsPerConn = cmp.Or(hc.MaxRequestsPerConn, s.MaxRequestsPerConn)
	hc.MaxConnsPerHost = cmp.Or(hc.MaxConnsPerHost, s.MaxConnsPerHost)
	hc.MaxWait = cmp.Or(hc.MaxWait, s.MaxWait)
	hc.MaxWaiters = cmp.Or(hc.MaxWaiters, s.MaxWaiters)
	return hc
}
