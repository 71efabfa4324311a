//go:build unix

package benchproxy

import (
	"errors"
	"fmt"
	"slices"

	"example.com/connwise/bench"
	"example.com/connwise/internal/frontproxy"
)

// Names are those that Named knows.
func Names() []string {
	var names []string
	for _, k := range frontproxy.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Named returns the proxies of these names, each once. One that is unknown, or not installed,
// gives a *bench.UsageError.
func Named(names ...string) ([]bench.Proxy, error) {
	var list []bench.Proxy
	var errs []error
	for _, name := range names {
		if slices.ContainsFunc(list, func(x bench.Proxy) bool { return x.Name == name }) {
			continue
		}
		x, err := named(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, x)
	}
	return list, errors.Join(errs...)
}

func named(name string) (bench.Proxy, error) {
	k, ok := frontproxy.KindNamed(name)
	if !ok {
		return bench.Proxy{}, &bench.UsageError{Option: "proxy", Value: name, Reason: "unknown", Known: Names()}
	}
	version, err := k.Version()
	if missing, ok := errors.AsType[*frontproxy.NotInstalledError](err); ok {
		return bench.Proxy{}, &bench.UsageError{Option: "proxy", Value: name, Reason: fmt.Sprintf("is not installed: there is no %s in PATH, /usr/sbin or /usr/local/sbin", missing.Program)}
	}
	if err != nil {
		return bench.Proxy{}, err
	}
	return bench.Proxy{
		Name:    name,
		Note:    version + "; a connection to the peer for each request, none of them passed on twice",
		Protos:  benchNames(k.Protos),
		Limits:  benchNames(k.Limits),
		Reloads: k.Reloads(),
		Start:   func(s bench.ProxySetup) (bench.Front, error) { return start(k, s) },
	}, nil
}

// protos are frontproxy's for those of the bench.
var protos = map[string]frontproxy.Proto{"h1": frontproxy.H1, "h1s": frontproxy.TLS, "h2": frontproxy.H2}

// benchNames are the bench's names, in its order.
func benchNames(list []frontproxy.Proto) []string {
	return slices.DeleteFunc(bench.ProtoNames(), func(name string) bool {
		q, ok := protos[name]
		return !ok || !slices.Contains(list, q)
	})
}
