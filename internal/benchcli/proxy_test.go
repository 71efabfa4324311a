package benchcli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/connwise/bench"
)

func TestProxiesThatAreNotKnown(t *testing.T) {
	cmd := New(bench.DefaultClients()...)
	cmd.SetArgs([]string{"--proxy", "squid"})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err := cmd.Execute()
	if e, ok := errors.AsType[*bench.UsageError](err); !ok || e.Option != "proxy" || e.Value != "squid" {
		t.Errorf("error %v, want one that squid isn't known", err)
	}
}

func TestClientsBehindProxies(t *testing.T) {
	var names []string
	for _, c := range compared(bench.DefaultClients(), bench.Options{Proxies: []bench.Proxy{{}}}) {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "connwise net/http net/http-told connwise+confirm" {
		t.Errorf("clients %s", got)
	}
}
