package pool

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"example.com/connwise/dialer"
)

// A GuardConfig says how a Guard behaves. The zero GuardConfig works: no idle timeout is
// known until one is learnt, and connections aren't limited. NewGuard copies it.
type GuardConfig struct {
	// ProxyIdleTimeout is how long the proxy or server in front lets a connection idle
	// before it closes it; a connection takes no request any more once it has been idle for
	// ProxyIdleTimeout - IdleMargin. Zero: unknown. The limit is then learnt from the ages
	// at which the peer closes idle connections, and so is a smaller one than this.
	ProxyIdleTimeout time.Duration
	// IdleMargin is as in Config. Zero: a tenth of ProxyIdleTimeout, within bounds, or what
	// the round trip to the peer and its jitter take.
	IdleMargin time.Duration

	// MaxConnsPerHost bounds the connections to one address, those being dialled included.
	// A dial beyond it waits, the oldest first. Zero: no limit.
	//
	// http.Transport doesn't end a dial when the request that it was for is over or has got
	// another connection: it goes on waiting, and its connection becomes idle. MaxWait
	// and MaxWaiters bound that.
	MaxConnsPerHost int
	// MaxWait is the longest that a dial waits under MaxConnsPerHost; then it fails with
	// ErrWaitTimeout. Zero: until its context ends.
	MaxWait time.Duration
	// MaxWaiters bounds the dials that wait for one address; one more fails at once with
	// ErrTooManyWaiters. Zero: no bound.
	MaxWaiters int
	// Hosts overrides these settings for single addresses, by "host:port" as the Guard is
	// asked to dial: behind a proxy, the proxy's.
	Hosts map[string]GuardHost

	// Dialer opens connections. Nil: the zero Dialer. NewGuard copies it, and gives the copy a
	// dialer.Memory if it has none.
	Dialer *dialer.Dialer
	// DialContext, if not nil, opens connections in the Dialer's place. It is called under
	// the Dialer's ConnectTimeout (60 s when zero), and its error is returned in a
	// *dialer.Error.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLSClientConfig is for DialTLSContext, and for nothing else. An empty ServerName is the host that is
	// dialled; for HTTP/2 NextProtos has to have "h2". Nil: the zero tls.Config.
	TLSClientConfig *tls.Config

	// Trace is told of dials, of waits for a slot, of writes that were refused, and of
	// connections' ends. NewGuard copies it. Nil: nobody is; nothing is ever printed.
	Trace *Trace
}

// A GuardHost overrides a GuardConfig for one address. Zero fields keep its value.
type GuardHost struct {
	ProxyIdleTimeout time.Duration
	IdleMargin       time.Duration
	MaxConnsPerHost  int
	MaxWait          time.Duration
	MaxWaiters       int
}

// forHost is the settings' view of one address.
func (cfg *GuardConfig) forHost(addr string) GuardHost {
	gh := cfg.Hosts[addr]
	return GuardHost{
		ProxyIdleTimeout: cmp.Or(gh.ProxyIdleTimeout, cfg.ProxyIdleTimeout),
		IdleMargin:       cmp.Or(gh.IdleMargin, cfg.IdleMargin),
		MaxConnsPerHost:  cmp.Or(gh.MaxConnsPerHost, cfg.MaxConnsPerHost),
		MaxWait:          cmp.Or(gh.MaxWait, cfg.MaxWait),
		MaxWaiters:       cmp.Or(gh.MaxWaiters, cfg.MaxWaiters),
	}
}

// checkGuard refuses what can't be honoured, with the field's name.
func checkGuard(cfg *GuardConfig) error {
	if err := checkGuardHost("GuardConfig", cfg.forHost("")); err != nil {
		return err
	}
	return eachHost("GuardConfig.Hosts", cfg.Hosts, func(where, addr string, gh GuardHost) error {
		return cmp.Or(checkGuardHost(where, gh), checkGuardHost(where, cfg.forHost(addr)))
	})
}

func checkGuardHost(where string, gh GuardHost) error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"ProxyIdleTimeout", int64(gh.ProxyIdleTimeout)},
		{"IdleMargin", int64(gh.IdleMargin)},
		{"MaxConnsPerHost", int64(gh.MaxConnsPerHost)},
		{"MaxWait", int64(gh.MaxWait)},
		{"MaxWaiters", int64(gh.MaxWaiters)},
	} {
		if f.n < 0 {
			return &ConfigError{where + "." + f.name, fmt.Sprintf("is negative (%d); zero is the default", f.n)}
		}
	}
	return cmp.Or(
		checkUnit(where+".ProxyIdleTimeout", gh.ProxyIdleTimeout),
		checkWait(where+".MaxWait", gh.MaxWait),
		checkMargin(where, gh.ProxyIdleTimeout, gh.IdleMargin),
	)
}
