//go:build unix

package benchproxy

import (
	"errors"
	"strings"
	"testing"

	"example.com/connwise/bench"
)

func TestNamesThatAreRefused(t *testing.T) {
	t.Setenv("PATH", "")
	for _, c := range []struct{ name, reason string }{
		{"squid", "unknown"},
		{"", "unknown"},
		{"node", "is not installed: there is no node in PATH"},
	} {
		_, err := Named(c.name)
		e, ok := errors.AsType[*bench.UsageError](err)
		if !ok || e.Option != "proxy" || e.Value != c.name || !strings.HasPrefix(e.Reason, c.reason) {
			t.Errorf("%q: error %v, want a UsageError: %s", c.name, err, c.reason)
		}
	}
}
