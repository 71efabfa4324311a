package sidecar

// The values of pool.protocols.
const (
	protocolsAuto  = "auto"
	protocolsHTTP1 = "http1"
	protocolsHTTP2 = "http2"
	protocolsH2C   = "h2c"
)

func (s *Settings) poolTable() []Setting {
	c, b := &s.Pool, s.Base
	return []Setting{
		{Key: "pool.proxy_idle_timeout", Field: "Config.ProxyIdleTimeout", Value: duration{&c.ProxyIdleTimeout, offZero},
			Doc: "how long the proxy or server in front of the upstream lets a connection idle; none: learnt"},
		{Key: "pool.idle_margin", Field: "Config.IdleMargin", Value: duration{&c.IdleMargin, offAuto},
			Doc: "how long before that reuse ends; auto: a tenth, within bounds"},
		{Key: "pool.idle_timeout", Field: "Config.Base.IdleConnTimeout", Value: duration{&b.IdleConnTimeout, offZero},
			Doc: "how long a connection may idle in any case"},
		{Key: "pool.max_conn_age", Field: "Config.MaxConnAge", Value: duration{&c.MaxConnAge, offZero},
			Doc: "how old a connection may grow"},
		{Key: "pool.confirm_after", Field: "Config.ConfirmAfter", Value: duration{&c.ConfirmAfter, offZero},
			Doc: "how long a connection may be idle before a request that may not run twice asks for a sign of life"},
		{Key: "pool.max_idle", Field: "Config.MaxIdlePerHost", Value: count{&c.MaxIdlePerHost, offZero},
			Doc: "idle connections at most"},
		{Key: "pool.min_idle", Field: "Config.MinIdlePerHost", Value: count{&c.MinIdlePerHost, offZero},
			Doc: "how many requests at once are to find a connection ready"},
		{Key: "pool.max_requests_per_conn", Field: "Config.MaxRequestsPerConn", Value: count{&c.MaxRequestsPerConn, offZero},
			Doc: "how many requests a connection carries at most"},
		{Key: "pool.max_conns", Field: "Config.MaxConnsPerHost", Value: count{&c.MaxConnsPerHost, offZero},
			Doc: "connections at most, those being opened included"},
		{Key: "pool.max_wait", Field: "Config.MaxWait", Value: duration{&c.MaxWait, offZero},
			Doc: "how long a request waits for a connection at most"},
		{Key: "pool.max_waiters", Field: "Config.MaxWaiters", Value: count{&c.MaxWaiters, offZero},
			Doc: "how many requests wait because of max_conns at most"},
		{Key: "pool.write_stall_timeout", Field: "Config.WriteStallTimeout", Value: duration{&c.WriteStallTimeout, offZero},
			Doc: "how long the upstream may take no byte of a request"},
		{Key: "pool.read_stall_timeout", Field: "Config.ReadStallTimeout", Value: duration{&c.ReadStallTimeout, offZero},
			Doc: "how long the upstream may send no byte of an answer's body; mind event streams"},
		{Key: "pool.response_header_timeout", Field: "Config.Base.ResponseHeaderTimeout", Value: duration{&b.ResponseHeaderTimeout, offZero},
			Doc: "how long an answer's head may take after the request was sent"},
		{Key: "pool.expect_continue_timeout", Field: "Config.Base.ExpectContinueTimeout", Value: duration{&b.ExpectContinueTimeout, offNever},
			Doc: "how long a body waits for 100 Continue where that was asked for"},
		{Key: "pool.max_response_header_bytes", Field: "Config.Base.MaxResponseHeaderBytes", Value: size{&b.MaxResponseHeaderBytes, offNever},
			Doc: "the largest head of an answer"},
		{Key: "pool.protocols", Value: words(&s.Protocols, protocolsAuto, protocolsHTTP1, protocolsHTTP2, protocolsH2C),
			Doc: "auto (HTTP/1.1, or HTTP/2 if TLS agrees on it), http1, http2 (with TLS), h2c (HTTP/2 without TLS, by prior knowledge)"},
		{Key: "pool.http2.ping_after", Field: "Config.Base.HTTP2.SendPingTimeout", Value: duration{&b.HTTP2.SendPingTimeout, offNever},
			Doc: "how long nothing may come on an HTTP/2 connection in use before it is asked for a sign of life"},
		{Key: "pool.http2.ping_timeout", Field: "Config.Base.HTTP2.PingTimeout", Value: duration{&b.HTTP2.PingTimeout, offNever},
			Doc: "how long that may take"},
		{Key: "pool.http2.one_conn", Field: "Config.Base.HTTP2.StrictMaxConcurrentRequests", Value: boolean{&b.HTTP2.StrictMaxConcurrentRequests},
			Doc: "wait when all streams of a connection are taken, and open no second one for them"},
	}
}

// proxyEnvironment is the value of dial.proxy that goes by HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
const proxyEnvironment = "environment"

func (s *Settings) dialTable() []Setting {
	d, r, k := s.Dialer, s.Resolver, &s.KeepAlive
	return []Setting{
		{Key: "dial.proxy", Value: wayOut{&s.ProxyURL},
			Doc: "the way out: environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), none, or a URL of http, https, socks5 or socks5h"},
		{Key: "dial.resolve_timeout", Field: "Dialer.ResolveTimeout", Value: duration{&d.ResolveTimeout, offNegative},
			Doc: "for looking up the upstream's name"},
		{Key: "dial.connect_timeout", Field: "Dialer.ConnectTimeout", Value: duration{&d.ConnectTimeout, offNegative},
			Doc: "for connecting, over all addresses"},
		{Key: "dial.proxy_timeout", Field: "Dialer.ProxyTimeout", Value: duration{&d.ProxyTimeout, offNegative},
			Doc: "for what a proxy takes to connect"},
		{Key: "dial.tls_timeout", Field: "Dialer.TLSTimeout", Value: duration{&d.TLSTimeout, offNegative},
			Doc: "for a TLS handshake"},
		{Key: "dial.fallback_delay", Field: "Dialer.FallbackDelay", Value: duration{&d.FallbackDelay, offNever},
			Doc: "how long an address may take before the next one is tried beside it"},
		{Key: "dial.user_timeout", Field: "Dialer.UserTimeout", Value: duration{&d.UserTimeout, offAuto},
			Doc: "how long the upstream may leave sent bytes unacknowledged (Linux); auto: 2m, or none with keep_alive.idle"},
		{Key: "dial.local_addr", Field: "Dialer.LocalAddr", Value: optional{&s.LocalAddr},
			Doc: "the IP address to connect from"},
		{Key: "dial.cache_ttl", Field: "CachingResolver.TTL", Value: duration{&s.Cached, offZero},
			Doc: "how long the addresses of a name are used; none: looked up for each connection"},
		{Key: "dial.cache_stale", Field: "CachingResolver.StaleFor", Value: duration{&r.StaleFor, offZero},
			Doc: "how much longer they may be used when a lookup fails"},
		{Key: "dial.keep_alive.idle", Field: "Dialer.KeepAlive", Value: duration{&k.Idle, offAuto},
			Doc: "how long a connection is quiet before TCP probes it; auto: 15s; none: no probes"},
		{Key: "dial.keep_alive.interval", Value: duration{&k.Interval, offAuto},
			Doc: "between probes; auto: 15s; needs idle"},
		{Key: "dial.keep_alive.count", Value: count{&k.Count, offAuto},
			Doc: "how many probes may fail; auto: 9; needs idle"},
	}
}
