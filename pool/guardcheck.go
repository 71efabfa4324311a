package pool

import (
	"cmp"
	"fmt"
)

// checkGuard refuses what can't be honoured, with the field's name.
func checkGuard(cfg *GuardConfig) error {
	if err := checkGuardHost("GuardConfig", cfg.forHost("")); err != nil {
		return err
	}
	seen := make(map[string]bool, len(cfg.Hosts))
	for addr, gh := range cfg.Hosts {
		where := fmt.Sprintf("GuardConfig.Hosts[%q]", addr)
		if !hostPort(addr) {
			return &ConfigError{where, `the key is not of the form "host:port", with the port as a number`}
		}
		key := canonicalAddr("", addr)
		if seen[key] {
			return &ConfigError{where, "another key names the same host (" + key + ")"}
		}
		seen[key] = true
		if err := cmp.Or(checkGuardHost(where, gh), checkGuardHost(where, cfg.forHost(addr))); err != nil {
			return err
		}
	}
	return nil
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
		checkMargin(where, gh.ProxyIdleTimeout, gh.IdleMargin),
	)
}
