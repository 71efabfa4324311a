package dialer

import (
	"net"
	"net/url"

	"golang.org/x/net/idna"
)

var proxyPorts = map[string]string{
	"http":    "80",
	"https":   "443",
	"socks5":  "1080",
	"socks5h": "1080",
}

// ProxyAddr returns the "host:port" of a proxy's URL, with the scheme's port if the URL has
// none and the name in its ASCII form. Credentials are no part of it.
func ProxyAddr(u *url.URL) string {
	host := u.Hostname()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	port := u.Port()
	if port == "" {
		port = proxyPorts[u.Scheme]
	}
	return net.JoinHostPort(host, port)
}
