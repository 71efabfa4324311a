package sidecar

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const unixPrefix = "unix:"

func (s *Settings) checkUpstream() *SettingError {
	const key, form = "upstream", "; write http://HOST:PORT, https://HOST, or unix:/PATH"
	if path, ok := strings.CutPrefix(s.Upstream, unixPrefix); ok {
		s.socket, s.target = path, &url.URL{Scheme: "http", Host: "localhost"}
		if !strings.HasPrefix(path, "/") {
			return wrong(key, "%q is no absolute path of a socket%s", path, form)
		}
		if s.Upstream == s.Listen || s.Upstream == s.Admin {
			return wrong(key, "%s is where the sidecar itself listens", s.Upstream)
		}
		return nil
	}
	u, err := url.Parse(s.Upstream)
	switch {
	case s.Upstream == "":
		return wrong(key, "is missing%s", form)
	case err != nil:
		return wrong(key, "is no URL%s", form) // err has the text, which may have a password
	case u.User != nil:
		return wrong(key, "has credentials in it, which aren't sent; have the client send Authorization")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return wrong(key, "%q is no URL of http or https%s", u.Redacted(), form)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return wrong(key, "has a query or a fragment; the client's goes in its place")
	case !validPort(u):
		return wrong(key, "%q has no valid port, 1 to 65535", u.Host)
	case s.Protocols == protocolsHTTP2 && u.Scheme == "http":
		return wrong("pool.protocols", "http2 is spoken over TLS; with an http upstream h2c is meant")
	case s.Protocols == protocolsH2C && u.Scheme == "https":
		return wrong("pool.protocols", "h2c is HTTP/2 without TLS; with an https upstream http2 is meant")
	}
	for _, own := range []string{s.Listen, s.Admin} {
		if u.Scheme == "http" && listensFor(own, u) {
			return wrong(key, "%s is where the sidecar itself listens", own)
		}
	}
	s.target = u
	return nil
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

func (s *Settings) checkListen() *SettingError { return s.checkAddr("listen", s.Listen) }

func (s *Settings) checkAdmin() *SettingError {
	switch {
	case s.Admin == "":
		return nil
	case s.Admin == s.Listen && !strings.HasSuffix(s.Admin, ":0"):
		return wrong("admin", "%s is where clients connect; give it an address of its own", s.Admin)
	}
	return s.checkAddr("admin", s.Admin)
}

func (s *Settings) checkAddr(key, addr string) *SettingError {
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		if !strings.HasPrefix(path, "/") || len(path) > maxSocketPath {
			return wrong(key, "%q is no absolute path of a socket, of %d bytes at most", path, maxSocketPath)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil {
		return wrong(key, "%q is no address; write 127.0.0.1:PORT, or unix:/PATH", addr)
	}
	if s.ListenAnywhere || loopback(host) {
		return nil
	}
	return wrong(key, "%s can be reached from other machines, and there is no authentication; "+
		"write 127.0.0.1:%s, or allow it with listen_anywhere (--listen-anywhere)", addr, port)
}

// maxSocketPath is what the systems' sockaddr_un has room for: 104 on the BSDs, with a zero byte.
const maxSocketPath = 103

// loopback tells whether host is this machine for sure. A name other than localhost isn't looked
// up: it could mean something else tomorrow.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (s *Settings) checkForward() *SettingError {
	switch {
	case s.Host == "" || !httpguts.ValidHostHeader(s.Host):
		return wrong("forward.host", "%q is neither upstream, client, nor a name", s.Host)
	case s.Via != "" && !httpguts.ValidHeaderFieldName(s.Via): // a token, as a pseudonym is
		return wrong("forward.via", "%q is no name of letters, digits, - and the like", s.Via)
	}
	return nil
}

func (s *Settings) checkDial() *SettingError {
	if s.LocalAddr != "" {
		ip, err := netip.ParseAddr(s.LocalAddr)
		if err != nil {
			return wrong("dial.local_addr", "%q is no IP address", s.LocalAddr)
		}
		s.Dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	if s.Cached > 0 {
		s.Resolver.TTL = s.Cached
		s.Dialer.Resolver = s.Resolver
	} else if s.Resolver.StaleFor > 0 {
		return wrong("dial.cache_stale", "needs dial.cache_ttl")
	}
	if s.ProxyURL != "" && s.socket != "" && s.ProxyURL != proxyEnvironment {
		return wrong("dial.proxy", "can't be between here and the socket of upstream")
	}
	return nil
}

func (s *Settings) checkKeepAlive() *SettingError {
	k, d := s.KeepAlive, &s.Dialer.KeepAlive
	switch {
	case k.Idle < 0:
		d.Idle = -1
	case k.Idle > 0:
		d.Enable, d.Idle, d.Interval, d.Count = true, k.Idle, k.Interval, k.Count
	}
	switch {
	case k.Idle <= 0 && k.Interval != 0, k.Interval < 0:
		return wrong("dial.keep_alive.interval", "needs a time, and one for dial.keep_alive.idle")
	case k.Idle <= 0 && k.Count != 0, k.Count < 0:
		return wrong("dial.keep_alive.count", "needs a number, and a time for dial.keep_alive.idle")
	}
	return nil
}

// tlsFiles are the contents of the files that TLSSettings names: what is in force until the next
// reload, whatever becomes of the files.
type tlsFiles struct{ ca, cert, key []byte }

func (s *Settings) checkTLS() *SettingError {
	t, f := &s.TLS, &s.files
	if (t.CertFile == "") != (t.KeyFile == "") {
		return wrong("tls.cert_file", "and tls.key_file need each other")
	}
	for _, file := range []struct {
		key, name string
		into      *[]byte
	}{{"tls.ca_file", t.CAFile, &f.ca}, {"tls.cert_file", t.CertFile, &f.cert}, {"tls.key_file", t.KeyFile, &f.key}} {
		if file.name == "" {
			continue
		}
		b, err := os.ReadFile(file.name)
		if err != nil {
			return wrong(file.key, "%v", err)
		}
		*file.into = b
	}
	if _, err := s.certificates(); err != nil {
		return wrong("tls.cert_file", "%v", err)
	}
	if _, err := s.authorities(); err != nil {
		return wrong("tls.ca_file", "%v", err)
	}
	return nil
}

func (s *Settings) certificates() ([]tls.Certificate, error) {
	if s.files.cert == nil {
		return nil, nil
	}
	c, err := tls.X509KeyPair(s.files.cert, s.files.key)
	return []tls.Certificate{c}, err
}

// authorities returns nil for the system's.
func (s *Settings) authorities() (*x509.CertPool, error) {
	if s.files.ca == nil {
		return nil, nil
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(s.files.ca) {
		return nil, errors.New("has no certificate in PEM form")
	}
	return p, nil
}

// wayOut is the value of dial.proxy: a URL's password isn't printed.
type wayOut struct{ p *string }

func (wayOut) Type() string { return "proxy" }

func (w wayOut) String() string {
	if u, err := url.Parse(*w.p); err == nil && *w.p != "" {
		return u.Redacted()
	}
	return none
}

func (w wayOut) Set(text string) error {
	switch text {
	case none:
		text = ""
	case proxyEnvironment:
	default:
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return errors.New("is neither environment, none, nor a URL like http://HOST:PORT")
		}
		if !strings.Contains(" http https socks5 socks5h ", " "+u.Scheme+" ") {
			return errors.New("is no proxy that is spoken to here; http, https, socks5 and socks5h are")
		}
	}
	*w.p = text
	return nil
}
