package pool

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkConfig refuses what can't be honoured, with the field's name. Nothing that
// was configured is ignored in silence.
func checkConfig(cfg *Config, base *http.Transport) error {
	if err := checkSigns(cfg, base); err != nil {
		return err
	}
	if err := cmp.Or(
		checkUnit("Config.ProxyIdleTimeout", cfg.ProxyIdleTimeout),
		checkUnit("Config.MaxConnAge", cfg.MaxConnAge),
		checkWait("Config.MaxWait", cfg.MaxWait),
		checkWait("Config.WriteStallTimeout", cfg.WriteStallTimeout),
		checkWait("Config.ReadStallTimeout", cfg.ReadStallTimeout),
	); err != nil {
		return err
	}
	if err := checkMargin("Config", cfg.ProxyIdleTimeout, cfg.IdleMargin); err != nil {
		return err
	}
	if err := checkHosts(cfg); err != nil {
		return err
	}
	//lint:ignore SA1019 the deprecated form is honoured too
	if cfg.Dialer != nil && (base.DialContext != nil || base.Dial != nil) {
		return &ConfigError{"Config.Dialer", "Base.DialContext is set too (a clone of http.DefaultTransport has one): set it to nil, or leave Dialer nil"}
	}
	if d := cfg.Dialer; d != nil && d.TLSTimeout != 0 && base.TLSHandshakeTimeout != 0 && d.TLSTimeout != base.TLSHandshakeTimeout {
		return &ConfigError{"Config.Dialer.TLSTimeout", fmt.Sprintf("is %v, but Base.TLSHandshakeTimeout is %v: set one of them", d.TLSTimeout, base.TLSHandshakeTimeout)}
	}
	if cfg.MaxConnsPerHost > 0 && base.MaxConnsPerHost > 0 && cfg.MaxConnsPerHost != base.MaxConnsPerHost {
		return &ConfigError{"Config.MaxConnsPerHost", fmt.Sprintf("is %d, but Base.MaxConnsPerHost is %d: set one of them", cfg.MaxConnsPerHost, base.MaxConnsPerHost)}
	}
	if cfg.MaxIdlePerHost > 0 && base.MaxIdleConnsPerHost > 0 && cfg.MaxIdlePerHost != base.MaxIdleConnsPerHost {
		return &ConfigError{"Config.MaxIdlePerHost", fmt.Sprintf("is %d, but Base.MaxIdleConnsPerHost is %d: set one of them", cfg.MaxIdlePerHost, base.MaxIdleConnsPerHost)}
	}
	if err := checkMinIdle(cfg, base); err != nil {
		return err
	}
	return checkProtocols(cfg, base)
}

// checkMinIdle refuses a MinIdlePerHost that can't be kept. It comes after checkHosts.
func checkMinIdle(cfg *Config, base *http.Transport) error {
	all := HostConfig{
		MinIdlePerHost:  cfg.MinIdlePerHost,
		MaxIdlePerHost:  cmp.Or(cfg.MaxIdlePerHost, base.MaxIdleConnsPerHost),
		MaxConnsPerHost: cmp.Or(cfg.MaxConnsPerHost, base.MaxConnsPerHost),
	}
	if err := checkLeast("Config", all, base); err != nil {
		return err
	}
	return eachHost("Config.Hosts", cfg.Hosts, func(where, _ string, hc HostConfig) error {
		return checkLeast(where, HostConfig{
			MinIdlePerHost:  cmp.Or(hc.MinIdlePerHost, all.MinIdlePerHost),
			MaxIdlePerHost:  cmp.Or(hc.MaxIdlePerHost, all.MaxIdlePerHost),
			MaxConnsPerHost: cmp.Or(hc.MaxConnsPerHost, all.MaxConnsPerHost),
		}, base)
	})
}

// checkLeast checks MinIdlePerHost, as it is in force for a host, against what bounds it there.
func checkLeast(where string, hc HostConfig, base *http.Transport) error {
	if hc.MinIdlePerHost > 0 && base.DisableKeepAlives {
		return &ConfigError{where + ".MinIdlePerHost", "Base.DisableKeepAlives is set, so that no connection is ever idle"}
	}
	for _, bound := range []struct {
		name string
		n    int
	}{{"MaxIdlePerHost", hc.MaxIdlePerHost}, {"MaxConnsPerHost", hc.MaxConnsPerHost}, {"Base.MaxIdleConns", base.MaxIdleConns}} {
		if bound.n > 0 && hc.MinIdlePerHost > bound.n {
			return &ConfigError{where + ".MinIdlePerHost", fmt.Sprintf("is %d, but %s is %d: so many can't be kept; set it to %d or less", hc.MinIdlePerHost, bound.name, bound.n, bound.n)}
		}
	}
	return nil
}

// checkSigns refuses negative numbers: they mean nothing here, and "no limit" is zero.
func checkSigns(cfg *Config, base *http.Transport) error {
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"Config.ProxyIdleTimeout", int64(cfg.ProxyIdleTimeout)},
		{"Config.IdleMargin", int64(cfg.IdleMargin)},
		{"Config.MaxConnAge", int64(cfg.MaxConnAge)},
		{"Config.ConfirmAfter", int64(cfg.ConfirmAfter)},
		{"Config.MaxIdlePerHost", int64(cfg.MaxIdlePerHost)},
		{"Config.MinIdlePerHost", int64(cfg.MinIdlePerHost)},
		{"Config.MaxRequestsPerConn", int64(cfg.MaxRequestsPerConn)},
		{"Config.MaxConnsPerHost", int64(cfg.MaxConnsPerHost)},
		{"Config.MaxWait", int64(cfg.MaxWait)},
		{"Config.MaxWaiters", int64(cfg.MaxWaiters)},
		{"Config.WriteStallTimeout", int64(cfg.WriteStallTimeout)},
		{"Config.ReadStallTimeout", int64(cfg.ReadStallTimeout)},
		{"Config.Base.MaxIdleConns", int64(base.MaxIdleConns)},
		{"Config.Base.MaxIdleConnsPerHost", int64(base.MaxIdleConnsPerHost)},
		{"Config.Base.MaxConnsPerHost", int64(base.MaxConnsPerHost)},
		{"Config.Base.IdleConnTimeout", int64(base.IdleConnTimeout)},
		{"Config.Base.TLSHandshakeTimeout", int64(base.TLSHandshakeTimeout)},
		{"Config.Base.ResponseHeaderTimeout", int64(base.ResponseHeaderTimeout)},
		{"Config.Base.ExpectContinueTimeout", int64(base.ExpectContinueTimeout)},
		{"Config.Base.MaxResponseHeaderBytes", base.MaxResponseHeaderBytes},
		{"Config.Base.WriteBufferSize", int64(base.WriteBufferSize)},
		{"Config.Base.ReadBufferSize", int64(base.ReadBufferSize)},
	} {
		if f.n < 0 {
			return &ConfigError{f.name, fmt.Sprintf("is negative (%d); zero is the default", f.n)}
		}
	}
	return nil
}

func checkMargin(where string, idle, margin time.Duration) error {
	if idle > 0 && margin >= idle {
		return &ConfigError{where + ".IdleMargin", fmt.Sprintf("is %v, not less than ProxyIdleTimeout (%v): no connection could be reused", margin, idle)}
	}
	return nil
}

// eachHost calls check for all entries of a Hosts, whose keys it checks itself.
func eachHost[C any](field string, hosts map[string]C, check func(where, addr string, c C) error) error {
	seen := make(map[string]bool, len(hosts))
	for _, addr := range slices.Sorted(maps.Keys(hosts)) { // the same error each time
		c := hosts[addr]
		where := fmt.Sprintf("%s[%q]", field, addr)
		if !hostPort(addr) {
			return &ConfigError{where, `the key is not of the form "host:port", with the port as a number`}
		}
		key := canonicalAddr("", addr)
		if seen[key] {
			return &ConfigError{where, "another key names the same host (" + key + ")"}
		}
		seen[key] = true
		if err := check(where, addr, c); err != nil {
			return err
		}
	}
	return nil
}

func checkHosts(cfg *Config) error {
	return eachHost("Config.Hosts", cfg.Hosts, func(where, _ string, hc HostConfig) error {
		if err := checkUnit(where+".ProxyIdleTimeout", hc.ProxyIdleTimeout); err != nil {
			return err
		}
		if err := checkWait(where+".MaxWait", hc.MaxWait); err != nil {
			return err
		}
		for _, f := range []struct {
			name string
			n    int64
		}{
			{"ProxyIdleTimeout", int64(hc.ProxyIdleTimeout)},
			{"IdleMargin", int64(hc.IdleMargin)},
			{"ConfirmAfter", int64(hc.ConfirmAfter)},
			{"MaxWait", int64(hc.MaxWait)},
			{"MaxIdlePerHost", int64(hc.MaxIdlePerHost)},
			{"MinIdlePerHost", int64(hc.MinIdlePerHost)},
			{"MaxConnsPerHost", int64(hc.MaxConnsPerHost)},
			{"MaxRequestsPerConn", int64(hc.MaxRequestsPerConn)},
			{"MaxWaiters", int64(hc.MaxWaiters)},
		} {
			if f.n < 0 {
				return &ConfigError{where + "." + f.name, "is negative; zero keeps the Config's value"}
			}
		}
		idle, margin := hc.ProxyIdleTimeout, hc.IdleMargin
		if idle == 0 {
			idle = cfg.ProxyIdleTimeout
		}
		if margin == 0 {
			margin = cfg.IdleMargin
		}
		return checkMargin(where, idle, margin)
	})
}

// minDuration is the shortest time that makes sense for an idle timeout or an age. Less
// is a number without its unit.
const minDuration = time.Millisecond

func checkUnit(field string, d time.Duration) error {
	if d > 0 && d < minDuration {
		return &ConfigError{field, fmt.Sprintf("is %v, which is no time for a connection: is the unit missing, as in %d*time.Second?", d, d)}
	}
	return nil
}

// checkWait is checkUnit for what may be short.
func checkWait(field string, d time.Duration) error {
	if d > 0 && d < time.Microsecond {
		return &ConfigError{field, fmt.Sprintf("is %v: is the unit missing, as in %d*time.Second?", d, d)}
	}
	return nil
}

// hostPort tells whether s has the form of a key of Hosts: a host that a URL can have, and
// a port in digits.
func hostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(port, 10, 16)
	return err == nil && perr == nil && n > 0 && host != "" && !strings.ContainsAny(host, " \t*/@?#\\\"<>")
}
