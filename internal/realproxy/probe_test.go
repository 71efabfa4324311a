//go:build proxies && unix

package realproxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/internal/probe"
)

const (
	probeIdle     = 2 * time.Second
	probeRequests = 3 * keepRequests // of a probe on one connection
)

// A probe finds what the proxy was told: after how long it closes an idle connection, and
// after how many requests a busy one.
func TestProbeFindsTheSettings(t *testing.T) {
	probed := []frontproxy.Kind{frontproxy.Nginx, frontproxy.HAProxy, frontproxy.Caddy}
	eachVariant(t, func(t *testing.T, v variant) {
		limit := 0
		if slices.Contains(v.kind.Limits, v.proto) {
			limit = keepRequests
		}
		r := newRigOf(t, v, frontproxy.Settings{Idle: probeIdle, Requests: limit}, startOrigin(t))
		p := r.probe(t)
		if e := p.Idle; e == nil || e.Ended == 0 || e.Failed > 0 {
			t.Errorf("idle connections: %+v", e)
		} else if lo, hi := e.Min.Duration(), e.Max.Duration(); lo < probeIdle*9/10 || hi > probeIdle*11/10 {
			t.Errorf("idle connections ended after %v to %v, and the proxy's timeout is %v", lo, hi, probeIdle)
		}
		want := probeRequests
		if limit > 0 {
			want = r.served(t)
		}
		if p.Requests.Served != want || p.Requests.Limited != (limit > 0) {
			t.Errorf("requests on one connection: %+v, want %d, limited: %v", p.Requests, want, limit > 0)
		}
		t.Logf("idle %v to %v, %v; %d requests, limited: %v", p.Idle.Min, p.Idle.Max, p.Idle.How, p.Requests.Served, p.Requests.Limited)
	}, direct(overHTTP1(append(probed, frontproxy.Apache)...), overHTTP2(probed...)))
}

// probe measures the way's protocol.
func (r *rig) probe(t *testing.T) probe.Protocol {
	t.Helper()
	o := probe.Options{URL: r.url, Requests: probeRequests, Max: 2 * probeIdle}
	o.Protos = []string{map[frontproxy.Proto]string{frontproxy.H1: probe.H1, frontproxy.TLS: probe.H1S, frontproxy.H2: probe.H2}[r.proto]}
	o.RootCAs = r.roots
	p, err := probe.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := p.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Protocols) != 1 || report.Protocols[0].Error != "" || report.Protocols[0].Idle == nil {
		t.Fatalf("measured %+v", report.Protocols)
	}
	if a := report.Advice; a == nil || a.ProxyIdleTimeout.Duration() < probeIdle*9/10 || a.ProxyIdleTimeout.Duration() > probeIdle {
		t.Errorf("advice %+v, and the proxy's timeout is %v", a, probeIdle)
	}
	return report.Protocols[0]
}

// served is how many requests net/http gets through on one connection, one after the other.
func (r *rig) served(t *testing.T) int {
	t.Helper()
	c := newNetHTTP(r)
	rt := c.transport(t)
	defer c.close(t)
	for n := 0; n < probeRequests; n++ {
		fresh := false
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { fresh = !info.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, r.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if fresh && n > 0 {
			return n
		}
	}
	t.Fatal("the proxy has no limit")
	return 0
}
