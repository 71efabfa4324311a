package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/connwise/pool"
)

func TestStats(t *testing.T) {
	stats := pool.Stats{Hosts: []pool.HostStats{
		{Host: "api.example:443", Scheme: "https", Open: 3, Idle: 2, InUse: 1, IdleLimit: 54 * time.Second, IdleLimitSource: "configured", LearntIdle: 59987654 * time.Microsecond, Totals: pool.Totals{
			Sent: 1234567, Reused: 1234500, Waited: 41, WaitTimeouts: 17, Closed: 16,
			Confirmed: 76, ConfirmFailed: 33, DialsAhead: 12,
			IdleCloses: map[string]uint64{"fin": 1, "408": 2},
			ClosedBy:   map[pool.CloseReason]uint64{pool.ReasonPeerClosed: 3, pool.ReasonIdleLimit: 12, pool.ReasonError: 1, pool.ReasonClosed: 0},
		}},
		{Host: "grpc.example:443", Scheme: "https", Proto: "HTTP/2.0", Open: 1, InUse: 1, IdleLimitSource: "none", Conns: []pool.ConnStats{
			{Addr: "192.0.2.7:443", Age: 90 * time.Second, Streams: 17, StreamLimit: 250, GoAway: true, PingRTT: 1250 * time.Microsecond, Pings: 3},
		}},
		{Host: "db.example:80", Scheme: "http", Proxy: "http://proxy:3128", Waiting: 7, IdleLimitSource: "none"},
	}}
	source := statsFunc(func() pool.Stats { return stats })
	srv := httptest.NewServer(pool.StatsHandler(source))
	defer srv.Close()

	got := exec(t.Context(), "stats", srv.URL)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, want := range []string{"api.example:443", "54s", "configured", "db.example:80 via http://proxy:3128",
		"\napi.example:443 closed: 12 idle limit, 3 peer closed idle, 1 error\n",
		"\napi.example:443 was closed while idle: 2 408, 1 fin; learnt idle timeout: 59.988s\n",
		"\napi.example:443 was asked for a sign of life: 76 times, 33 without one\n", "\napi.example:443 was dialled ahead: 12 of ", " 41 ", " 17 ", "https h2", "192.0.2.7:443", " 250 ", "1.25ms", "1m30s"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}

	if strings.Contains(got.stdout, "3128 closed:") {
		t.Errorf("a host that closed nothing has a line of reasons:\n%s", got.stdout)
	}
	for line := range strings.Lines(got.stdout) {
		if n := utf8.RuneCountInString(line); n > 113 {
			t.Errorf("a line of %d characters:\n%s", n, line)
		}
	}

	asJSON := exec(t.Context(), "stats", "--json", srv.URL)
	want, err := json.MarshalIndent(stats, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(asJSON.stdout) != string(want) {
		t.Errorf("--json printed\n%s\nwant what was served:\n%s", asJSON.stdout, want)
	}

	stats.Hosts = []pool.HostStats{}
	if got := exec(t.Context(), "stats", srv.URL); got.code != exitOK || !strings.Contains(got.stdout, "no hosts in use") {
		t.Errorf("no hosts: exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
}

// TestStatsPrintsWhatItCan checks that one bad URL doesn't hide the good ones.
func TestStatsPrintsWhatItCan(t *testing.T) {
	one := []pool.HostStats{{Host: "api.example:443", Scheme: "https"}}
	srv := httptest.NewServer(pool.StatsHandler(statsFunc(func() pool.Stats { return pool.Stats{Hosts: one} })))
	defer srv.Close()
	got := exec(t.Context(), "stats", noStats(t, http.NotFound), srv.URL)
	if got.code != exitFailed || !strings.Contains(got.stderr, "404") || !strings.Contains(got.stdout, "api.example:443") {
		t.Errorf("exit code %d\nstdout %s\nstderr %s", got.code, got.stdout, got.stderr)
	}
}

type statsFunc func() pool.Stats

func (f statsFunc) Stats() pool.Stats { return f() }
