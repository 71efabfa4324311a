package sidecar

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// An upstream is a pool with the policy over it, which requests hold until they are done. The
// last hold's end closes the pool.
type upstream struct {
	pool      *pool.Transport
	transport *retry.Transport
	key       string // of the settings that it is made of
	budgetKey string
	holds     atomic.Int64  // those who use it, and 1 while it is in force
	gone      chan struct{} // closed when the pool is
}

// newUpstream makes an upstream, with a hold on it. old is the one that it follows, nil for
// none: its budget goes on if it has the same settings, so that a reload isn't a new allowance.
func newUpstream(s *Settings, old *upstream) (*upstream, error) {
	u := &upstream{
		key:       s.key(upstreamParts...) + string(s.files.ca) + string(s.files.cert) + string(s.files.key) + s.ProxyURL,
		budgetKey: s.key("budget."),
		gone:      make(chan struct{}),
	}
	budget := s.Budget
	if old != nil && old.budgetKey == u.budgetKey {
		budget = old.transport.Budget
	}
	u.transport = &retry.Transport{Policy: s.Policy, Budget: budget}
	if err := u.transport.Check(); err != nil {
		return nil, err
	}
	p, err := pool.New(s.poolConfig())
	if err != nil {
		return nil, err
	}
	u.pool, u.transport.Base = p, p
	u.holds.Store(1)
	return u, nil
}

// upstreamParts are the keys, and beginnings of keys, of what an upstream is made of.
var upstreamParts = []string{"upstream", "pool.", "dial.", "tls.", "retry.", "budget."}

// key has the settings of some parts as one text.
func (s *Settings) key(parts ...string) string {
	var b strings.Builder
	for _, t := range s.Table() {
		for _, part := range parts {
			if strings.HasPrefix(t.Key, part) {
				b.WriteString(t.Key + "=" + t.Value.String() + "\n")
			}
		}
	}
	return b.String()
}

// enter takes a hold, unless the upstream is gone already.
func (u *upstream) enter() bool {
	for n := u.holds.Load(); n > 0; n = u.holds.Load() {
		if u.holds.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave gives a hold back.
func (u *upstream) leave() {
	if u.holds.Add(-1) == 0 {
		_ = u.pool.Close() // it has nothing to say: see pool.Transport.Close
		close(u.gone)
	}
}

// retire gives up the hold that an upstream has while it is in force. Those who use it go on,
// and send again what they have to; connections that they don't need are closed.
func (u *upstream) retire() {
	u.pool.CloseIdleConnections()
	u.leave()
}

// poolConfig is what the settings mean for pool.New.
func (s *Settings) poolConfig() pool.Config {
	cfg, base := s.Pool, s.Base
	base.TLSClientConfig = s.tlsConfig()
	base.Protocols = s.protocols()
	base.Proxy = s.proxy()
	if s.socket != "" {
		d, path := s.Dialer, s.socket
		base.Proxy = nil
		base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	} else {
		cfg.Dialer = s.Dialer
	}
	cfg.Base = base
	return cfg
}

func (s *Settings) tlsConfig() *tls.Config {
	certs, _ := s.certificates() // checkTLS has seen both
	roots, _ := s.authorities()
	return &tls.Config{
		Certificates:       certs,
		RootCAs:            roots,
		ServerName:         s.TLS.ServerName,
		MinVersion:         s.TLS.MinVersion,
		InsecureSkipVerify: s.TLS.InsecureSkipVerify, // asked for by name
	}
}

func (s *Settings) protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(s.Protocols == protocolsAuto || s.Protocols == protocolsHTTP1)
	p.SetHTTP2(s.Protocols == protocolsAuto || s.Protocols == protocolsHTTP2)
	p.SetUnencryptedHTTP2(s.Protocols == protocolsH2C)
	return p
}

func (s *Settings) proxy() func(*http.Request) (*url.URL, error) {
	switch s.ProxyURL {
	case "":
		return nil
	case proxyEnvironment:
		return http.ProxyFromEnvironment
	}
	u, err := url.Parse(s.ProxyURL)
	return func(*http.Request) (*url.URL, error) { return u, err }
}

// memory gives the dialer what is known of addresses from dials before a reload.
func (s *Settings) memory(m *dialer.Memory) { s.Dialer.Memory = cmp.Or(s.Dialer.Memory, m) }
