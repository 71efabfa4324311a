//go:build proxies && unix

package realproxy

import (
	"testing"

	"example.com/connwise/internal/frontproxy"
)

// allKinds are tested over HTTP/2, and reloadKinds are those of them with a graceful reload.
// http1Kinds are tested over HTTP/1.1, plain and with TLS.
var (
	http1Kinds = []frontproxy.Kind{frontproxy.Nginx, frontproxy.HAProxy, frontproxy.Caddy, frontproxy.Apache, frontproxy.Node}
	allKinds   = append([]frontproxy.Kind{frontproxy.Nginx, frontproxy.HAProxy, frontproxy.Caddy, frontproxy.H2O, frontproxy.Lighttpd}, silentKinds...)
	// silentKinds send no GOAWAY before they close an idle connection.
	silentKinds = []frontproxy.Kind{frontproxy.Nghttpx, frontproxy.Hitch, frontproxy.ATS}
	reloadKinds = []frontproxy.Kind{frontproxy.Nginx, frontproxy.HAProxy, frontproxy.Caddy, frontproxy.Nghttpx, frontproxy.H2O, frontproxy.Lighttpd, frontproxy.Hitch}
)

func TestReloadReplacesTheWorkers(t *testing.T) {
	// The last two ways are the bench's.
	more := []variant{{kind: frontproxy.Apache, proto: frontproxy.H2}, {kind: frontproxy.Nghttpx, proto: frontproxy.H1}}
	for _, v := range direct(variants(reloadKinds, frontproxy.H2), variants(http1Kinds, frontproxy.TLS), more) {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, v, shortIdle)
			k := v.kind
			if n := r.proxy.Front().Said(k.Replaced); n != 0 {
				t.Fatalf("it said %q before the reload", k.Replaced)
			}
			if err := r.proxy.Reload(); err != nil {
				t.Fatal(err)
			}
			if err := r.proxy.Front().Await(k.Replaced, 1, frontproxy.StartTime); err != nil {
				t.Error(err)
			}
			if err := r.proxy.Ready(); err != nil {
				t.Errorf("after the reload: %v", err)
			}
		})
	}
}
