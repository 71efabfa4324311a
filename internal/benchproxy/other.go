//go:build !unix

package benchproxy

import "example.com/connwise/bench"

// Names are those that Named knows: none on this system.
func Names() []string { return nil }

// Named refuses any name with a *bench.UsageError.
func Named(names ...string) ([]bench.Proxy, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return nil, &bench.UsageError{Option: "proxy", Value: names[0], Reason: "real proxies run on Unix only"}
}
