//go:build unix

package benchproxy

import (
	"crypto/x509"
	"fmt"

	"example.com/connwise/bench"
	"example.com/connwise/internal/frontproxy"
)

// A front is a proxy, and maybe a relay in front of it.
type front struct {
	proxy *frontproxy.Proxy
	relay *frontproxy.Relay // nil: none
}

func start(k frontproxy.Kind, s bench.ProxySetup) (bench.Front, error) {
	q, ok := protos[s.Proto]
	if !ok {
		return nil, fmt.Errorf("benchproxy: %s doesn't speak %s", k.Name, s.Proto)
	}
	p, err := frontproxy.Start(k, frontproxy.Settings{Origin: s.Origin, Proto: q, Idle: s.IdleTimeout, Requests: s.Requests})
	if err != nil {
		return nil, err
	}
	f := &front{proxy: p}
	if s.Delay == 0 {
		return f, nil
	}
	if f.relay, err = frontproxy.StartRelay(p.Addr(), s.Delay); err != nil {
		_ = f.Close() // the relay's error says more
		return nil, err
	}
	return f, nil
}

func (f *front) Addr() string {
	if f.relay != nil {
		return f.relay.Addr()
	}
	return f.proxy.Addr()
}

func (f *front) Roots() *x509.CertPool { return f.proxy.Roots() }

func (f *front) Reload() error { return f.proxy.Reload() }

// Close kills the proxy: its clients are gone by now, and old workers, which wait for them or
// for a time of their own, would only take long.
func (f *front) Close() error {
	if f.relay != nil {
		f.relay.Close()
	}
	f.proxy.Kill()
	return f.proxy.Close()
}
