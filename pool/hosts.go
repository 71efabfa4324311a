package pool

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/connwise/dialer"

	"golang.org/x/net/http/httpguts"
)

// A hostKey names an origin and the way to it. Connections are never shared between
// two keys; proxy has the proxy's credentials in it, so it must not be shown.
type hostKey struct {
	scheme string // "http" or "https"
	addr   string // "host:port", lower case, IDNA
	proxy  string // the proxy's URL, "" for a direct way
	http1  bool   // for requests that only HTTP/1 can carry, of an origin that was found to speak HTTP/2
}

// A rawKey is what a request says. It saves the hot path from making a hostKey.
type rawKey struct {
	scheme, host, proxy string
	http1               bool
}

// maxAliases bounds the spellings of one host ("Example.com", "example.com:443") that
// are remembered.
const maxAliases = 8

// hostFor finds or makes the host of a request. The error is from Base.Proxy.
func (t *Transport) hostFor(req *http.Request) (*host, error) {
	raw := rawKey{scheme: req.URL.Scheme, host: req.URL.Host}
	var proxy *url.URL
	if t.set.proxy != nil {
		var err error
		if proxy, err = t.set.proxy(req); err != nil {
			return nil, err
		}
		if proxy != nil {
			raw.proxy = proxy.String()
		}
	}
	h := t.hostOf(raw, proxy)
	if needsHTTP1(req) && h.speaksOtherwise() {
		raw.http1 = true
		h = t.hostOf(raw, proxy)
	}
	return h, nil
}

func (t *Transport) hostOf(raw rawKey, proxy *url.URL) *host {
	h := t.aliases.find(raw)
	if h == nil {
		h = t.addHost(raw, proxy)
	}
	return h
}

// needsHTTP1 tells whether only HTTP/1 can carry the request: HTTP/2 has no Upgrade (RFC 9113
// section 8.6).
func needsHTTP1(req *http.Request) bool {
	return len(req.Header["Upgrade"]) > 0 && switchesProtocol(req.Header)
}

// speaksOtherwise tells whether the host's connections are no good for a request that needs
// HTTP/1, though it may be spoken: it goes by a host of its own then.
func (h *host) speaksOtherwise() bool {
	if !h.speaks.both() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.proto == protocolHTTP2
}

func (t *Transport) addHost(raw rawKey, proxy *url.URL) *host {
	key := hostKey{raw.scheme, canonicalAddr(raw.scheme, raw.host), raw.proxy, raw.http1}
	forward := proxy != nil && raw.scheme == "http" && strings.HasPrefix(proxy.Scheme, "http")
	if forward {
		// Absolute-form requests to any host share the connections to the proxy.
		key.addr = dialer.ProxyAddr(proxy)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[key]
	if h == nil {
		h = &host{t: t, key: key, route: t.set.route, cfg: t.set.forHost(key.addr), speaks: t.set.protocols(raw.scheme)}
		h.idle = h.oneIdle[:0]
		if raw.http1 {
			h.speaks.http2 = false
		}
		h.route.Addr, h.route.Proxy, h.route.Forward = key.addr, proxy, forward
		h.shownProxy = shownProxy(proxy)
		if raw.scheme == "https" {
			h.route.TLS = t.set.tls
			if raw.http1 {
				h.route.TLS = t.set.tls1
			}
		}
		h.route.ProxyTLS = t.set.tls
		if twin := t.hosts[key.twin()]; twin != nil {
			h.slots = twin.slots
		} else {
			h.slots = &h.own
		}
		h.place, h.forward = key.slotsIndex(), forward
		h.slots.hosts[h.place].Store(h)
		h.refreshLocked(time.Now())
		t.hosts[key] = h
		t.mostHosts = max(t.mostHosts, len(t.hosts))
	}
	h.addAlias(raw)
	return h
}

// addAlias notes that requests of h say raw, if there is room for that.
func (h *host) addAlias(raw rawKey) {
	a := &h.firstAlias
	switch {
	case len(h.aliases) == maxAliases || slices.ContainsFunc(h.aliases, func(a *alias) bool { return a.raw == raw }):
		return
	case len(h.aliases) > 0:
		a = &alias{}
	}
	*a = alias{raw, h}
	h.aliases = append(h.aliases, a)
	h.t.aliases.add(a)
}

// canonicalAddr is "host:port" in lower case, with the scheme's port if there is none
// and international names in their ASCII form.
func canonicalAddr(scheme, hostport string) string {
	if a, err := httpguts.PunycodeHostPort(hostport); err == nil {
		hostport = a
	}
	u := url.URL{Host: strings.ToLower(hostport)}
	port := u.Port()
	if port == "" {
		port = defaultPorts[scheme]
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String() // one spelling of an IPv6 address
	}
	return net.JoinHostPort(host, port)
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// allHosts is a snapshot of the map.
func (t *Transport) allHosts() []*host {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.hostsLocked()
}

func (t *Transport) hostsLocked() []*host {
	hs := make([]*host, 0, len(t.hosts))
	for _, h := range t.hosts {
		hs = append(hs, h)
	}
	return hs
}

// removeHostLocked takes h out of the maps.
func (t *Transport) removeHostLocked(h *host) {
	delete(t.hosts, h.key)
	h.slots.hosts[h.place].CompareAndSwap(h, nil)
	for _, a := range h.aliases {
		t.aliases.remove(a)
	}
	t.hosts = shrunk(t.hosts, &t.mostHosts)
}
