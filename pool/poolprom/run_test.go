package poolprom_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/pool/poolprom"
	"example.com/connwise/retry"

	"github.com/prometheus/client_golang/prometheus"
)

// get sends a request with the number id, which a peer notes, and reads the answer.
func get(tb testing.TB, rt http.RoundTripper, method, url string, id int) error {
	tb.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set(peer.HeaderID, strconv.Itoa(id))
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func newPool(tb testing.TB, cfg pool.Config) *pool.Transport {
	tb.Helper()
	p, err := pool.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// The metrics are what the server has seen, to the last digit.
func TestAgreesWithTheServer(t *testing.T) {
	srv, err := peer.Start(nil, peer.Faults{MaxRequests: 7, Announce: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	p := newPool(t, pool.Config{MaxConnsPerHost: 1, MaxWait: time.Second})
	reg := registered(t, poolprom.New(p, poolprom.Options{}))
	const n = 100
	for i := range n {
		if err := get(t, p, "GET", "http://"+srv.Addr()+"/", i+1); err != nil {
			t.Fatal(err)
		}
	}
	report := srv.Report()
	at := fmt.Sprintf(`{host=%q,proxy="",scheme="http"`, srv.Addr())
	s := scrapeOf(t, reg)
	s.want(t, map[string]float64{
		"connwise_pool_hosts{}": 1,
		`connwise_pool_requests_total{connection="new",` + at[1:] + "}":    float64(len(report.Conns)),
		`connwise_pool_requests_total{connection="reused",` + at[1:] + "}": float64(report.Requests) - float64(len(report.Conns)),
		"connwise_pool_connections_opened_total" + at + "}":                float64(len(report.Conns)),
		"connwise_pool_dials_total" + at + "}":                             float64(len(report.Conns)),
		"connwise_pool_dial_duration_seconds_count" + at + "}":             float64(len(report.Conns)),
		"connwise_pool_wait_duration_seconds_count" + at + "}":             float64(len(report.Conns)),
		`connwise_pool_connections` + at + `,state="idle"}`:                1,
		`connwise_pool_connections` + at + `,state="in_use"}`:              0,
		`connwise_pool_connections` + at + `,state="dialing"}`:             0,
		"connwise_pool_connections_limit" + at + "}":                       1,
		"connwise_pool_wait_limit_seconds" + at + "}":                      1,
		"connwise_pool_request_failures_total" + at + "}":                  0,
		// The one that is open has carried two.
		`connwise_pool_connections_closed_total{host="` + srv.Addr() + `",proxy="",reason="not_kept_alive",scheme="http"}`: float64(len(report.Conns)) - 1,
		`connwise_pool_host_info{host="` + srv.Addr() + `",protocol="HTTP/1.1",proxy="",scheme="http"}`:                    1,
	})
	if len(report.Conns) != 15 || report.Requests != n {
		t.Errorf("the server has seen %d requests on %d connections", report.Requests, len(report.Conns))
	}
	if others := s.series(`host="other"`); others != nil {
		t.Errorf("there is no other host, but %v", others)
	}
	wantNoLint(t, reg)
}

// What sums up times is exact too: nanoseconds fit into a float for 104 days.
func TestTimesAreExact(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	p := newPool(t, pool.Config{})
	reg := registered(t, poolprom.New(p, poolprom.Options{}))
	for i := range 3 {
		if err := get(t, p, "GET", srv.URL, i); err != nil {
			t.Fatal(err)
		}
		p.CloseIdleConnections()
	}
	h := p.Stats().Hosts[0]
	at := fmt.Sprintf(`host=%q,proxy="",`, h.Host)
	scrapeOf(t, reg).want(t, map[string]float64{
		"connwise_pool_wait_duration_seconds_sum{" + at + `scheme="http"}`:                               h.WaitTime.Seconds(),
		"connwise_pool_dial_duration_seconds_sum{" + at + `scheme="http"}`:                               h.DialTimes.Sum.Seconds(),
		"connwise_pool_close_idle_age_seconds_sum{" + at + `reason="closed_while_idle",scheme="http"}`:   h.IdleAges[pool.ReasonIdleClosed].Sum.Seconds(),
		"connwise_pool_close_idle_age_seconds_count{" + at + `reason="closed_while_idle",scheme="http"}`: 3,
		"connwise_pool_round_trip_seconds{" + at + `scheme="http"}`:                                      h.RTT.Seconds(),
	})
}

// HTTP/2 over TLS: streams, GOAWAYs and a PING's round trip.
func TestHTTP2(t *testing.T) {
	auth, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := peer.StartH2(peer.H2Options{TLS: &tls.Config{Certificates: []tls.Certificate{auth.Certificate()}}, Faults: peer.H2Faults{MaxStreams: 10, StreamsPerConn: 4}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	p := newPool(t, pool.Config{Base: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: auth.Roots()}, ForceAttemptHTTP2: true}})
	reg := registered(t, poolprom.New(p, poolprom.Options{}))
	for i := range 10 {
		if err := get(t, p, "GET", "https://"+srv.Addr()+"/", i+1); err != nil {
			t.Fatal(err)
		}
	}
	at := fmt.Sprintf(`{host=%q,proxy="",scheme="https"}`, srv.Addr())
	var goAways float64
	for _, c := range srv.Report().PerConn {
		goAways += float64(min(c.GoAwaysSent, 1))
	}
	if goAways != 2 {
		t.Errorf("%v connections were said GOAWAY", goAways)
	}
	scrapeOf(t, reg).want(t, map[string]float64{
		"connwise_pool_goaways_total" + at: goAways,
		"connwise_pool_streams" + at:       0,
		"connwise_pool_streams_limit" + at: 10,
		fmt.Sprintf(`connwise_pool_host_info{host=%q,protocol="HTTP/2.0",proxy="",scheme="https"}`, srv.Addr()): 1,
	})
	wantNoLint(t, reg)
}

// A proxy's credentials are in no label.
func TestNoSecrets(t *testing.T) {
	proxy := &url.URL{Scheme: "http", User: url.UserPassword("somebody", "hunter2"), Host: "127.0.0.1:1"}
	dial := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host hunter2"}
	}
	p := newPool(t, pool.Config{Base: &http.Transport{Proxy: http.ProxyURL(proxy), DialContext: dial}})
	reg := registered(t, poolprom.New(p, poolprom.Options{}))
	if err := get(t, p, "GET", "http://user:hunter2@a.test/hunter2?hunter2", 1); err == nil {
		t.Fatal("no error")
	}
	s := scrapeOf(t, reg)
	if n := s.sum("connwise_pool_dial_failures_total", `stage="resolve"`, `proxy="http://127.0.0.1:1"`); n != 1 {
		t.Errorf("%v dials have failed, want 1", n)
	}
	for _, secret := range []string{"hunter2", "somebody", "user"} {
		if shown := s.series(secret); shown != nil {
			t.Errorf("%s is shown: %v", secret, shown)
		}
	}
}

// The retries of a scripted run, by evidence, reason and outcome.
func TestRetries(t *testing.T) {
	srv, err := peer.Start(nil, peer.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var refused atomic.Int32
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if refused.Add(-1) >= 0 {
			return nil, syscall.ECONNREFUSED
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	p := newPool(t, pool.Config{Base: &http.Transport{DialContext: dial, DisableKeepAlives: true}})
	rt := &retry.Transport{Base: p, Policy: retry.Policy{Backoff: func(int) time.Duration { return 0 }}}
	reg := registered(t, poolprom.NewRetry(rt, poolprom.Options{Namespace: "app", ConstLabels: prometheus.Labels{"pool": "a"}}))
	url := "http://" + srv.Addr() + "/"
	refused.Store(2)
	if err := get(t, rt, "POST", url, 1); err != nil { // with the third attempt
		t.Error(err)
	}
	srv.SetCut(peer.Cut{At: peer.CutAfter, Next: 1})
	if err := get(t, rt, "GET", url, 2); err != nil { // with the second
		t.Error(err)
	}
	srv.SetCut(peer.Cut{At: peer.CutAfter, Next: 1})
	if err := get(t, rt, "POST", url, 3); err == nil {
		t.Error("a POST that was executed was sent again")
	}
	srv.SetCut(peer.Cut{At: peer.CutAfter, Next: 3})
	if err := get(t, rt, "GET", url, 4); err == nil {
		t.Error("a fourth attempt")
	}
	b := rt.Stats().Budget
	scrapeOf(t, reg).want(t, map[string]float64{
		`app_retry_retries_total{evidence="never_sent",pool="a"}`:            2,
		`app_retry_retries_total{evidence="maybe_sent",pool="a"}`:            3,
		`app_retry_retries_total{evidence="refused",pool="a"}`:               0,
		`app_retry_retries_total{evidence="answered",pool="a"}`:              0,
		`app_retry_refusals_total{pool="a",reason="may_have_been_executed"}`: 1,
		`app_retry_refusals_total{pool="a",reason="out_of_retries"}`:         1,
		`app_retry_absorbed_calls_total{pool="a"}`:                           2,
		`app_retry_budget_recent_requests{pool="a"}`:                         4,
		`app_retry_budget_spent_total{account="maybe_sent",pool="a"}`:        3,
		`app_retry_budget_spent_total{account="unprocessed",pool="a"}`:       2,
		`app_retry_budget_refusals_total{account="maybe_sent",pool="a"}`:     0,
		`app_retry_budget_left{account="maybe_sent",pool="a"}`:               float64(b.Left),
		`app_retry_budget_left{account="unprocessed",pool="a"}`:              float64(b.LeftUnprocessed),
	})
	if b.Left != 97 || b.LeftUnprocessed != 98 {
		t.Errorf("the budget has %d and %d left", b.Left, b.LeftUnprocessed)
	}
	wantNoLint(t, reg)
}
