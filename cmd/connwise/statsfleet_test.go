package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// serveStats is the URL of a process with these hosts.
func serveStats(t *testing.T, hosts ...pool.HostStats) string {
	t.Helper()
	if hosts == nil {
		hosts = []pool.HostStats{}
	}
	srv := httptest.NewServer(pool.StatsHandler(statsFunc(func() pool.Stats { return pool.Stats{Hosts: hosts} })))
	t.Cleanup(srv.Close)
	return srv.URL
}

// row is the row of a table that begins with these cells.
func row(t *testing.T, table string, cells ...string) []string {
	t.Helper()
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > len(cells) && slices.Equal(f[:len(cells)], cells) {
			return f[len(cells):]
		}
	}
	t.Fatalf("no row begins with %q:\n%s", cells, table)
	return nil
}

func TestStatsOfAFleet(t *testing.T) {
	one := serveStats(t,
		pool.HostStats{Host: "api:443", Scheme: "https", Proto: "HTTP/1.1", Open: 3, Idle: 1, InUse: 2, Dialing: 1, Waiting: 4, IdleLimit: 54 * time.Second, IdleLimitSource: "learnt", LearntIdle: time.Minute,
			Totals: pool.Totals{Sent: 1<<63 + 5, Closed: 2, ClosedBy: map[pool.CloseReason]uint64{pool.ReasonGoAway: 2}}},
		pool.HostStats{Host: "api:443", Scheme: "https", Proto: "HTTP/2.0", Open: 1, IdleLimit: 54 * time.Second, IdleLimitSource: "learnt", Totals: pool.Totals{Sent: 100}},
		pool.HostStats{Host: "db:80", Scheme: "http", Open: 9, IdleLimitSource: "none"})
	two := serveStats(t,
		pool.HostStats{Host: "api:443", Scheme: "https", Proto: "HTTP/1.1", Open: 5, Idle: 5, IdleLimit: 58 * time.Second, IdleLimitSource: "configured", LearntIdle: 61 * time.Second,
			Totals: pool.Totals{Sent: 10, Closed: 3, ClosedBy: map[pool.CloseReason]uint64{pool.ReasonGoAway: 1, pool.ReasonIdleLimit: 2}, IdleCloses: map[string]uint64{"fin": 1}}},
		pool.HostStats{Host: "api:443", Scheme: "https", Proxy: "http://p:3128", Open: 7, IdleLimitSource: "none"})
	got := exec(t.Context(), "stats", one, two)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, tt := range []struct{ cells, want []string }{
		{[]string{"api:443", "https", "h1/h2"}, strings.Fields("54s to 58s learnt/configured 9 6 2 1 4 2")},
		{[]string{"api:443", "via", "http://p:3128"}, strings.Fields("https - none 7 0 0 0 0 1")},
		{[]string{"db:80", "http"}, strings.Fields("- none 9 0 0 0 0 1")},
		{[]string{"api:443", "9223372036854775923"}, strings.Fields("0 0 0 0 0 0 0 0 5")},
		{[]string{"api:443", "closed:"}, strings.Fields("3 goaway, 2 idle limit")},
		{[]string{"api:443", "was", "closed", "while", "idle:"}, strings.Fields("1 fin; learnt idle timeout: 1m0s")},
	} {
		if cells := row(t, got.stdout, tt.cells...); !slices.Equal(cells, tt.want) {
			t.Errorf("%q: %q, want %q", tt.cells, cells, tt.want)
		}
	}
	if n := strings.Count(got.stdout, "HTTP"); n > 0 || !strings.Contains(got.stdout, "procs") {
		t.Errorf("printed:\n%s", got.stdout)
	}
}

// TestStatsOfOneProcessAreNotMerged checks that two entries of one name stay two.
func TestStatsOfOneProcessAreNotMerged(t *testing.T) {
	url := serveStats(t, pool.HostStats{Host: "api:443", Scheme: "https", Proto: "HTTP/1.1"}, pool.HostStats{Host: "api:443", Scheme: "https", Proto: "HTTP/2.0"})
	got := exec(t.Context(), "stats", url)
	if n := strings.Count(got.stdout, "https"); n != 2 || strings.Contains(got.stdout, "procs") {
		t.Errorf("%d rows:\n%s", n, got.stdout)
	}
}

func TestStatsSorts(t *testing.T) {
	url := serveStats(t,
		pool.HostStats{Host: "a:1", Waiting: 1, Totals: pool.Totals{DialsFailed: 7}},
		pool.HostStats{Host: "b:1", Waiting: 3, Totals: pool.Totals{DialsFailed: 7}},
		pool.HostStats{Host: "c:1", Waiting: 2, Totals: pool.Totals{DialsFailed: 9}})
	for key, want := range map[string]string{"host": "a b c", "waiting": "b c a", "dial-errs": "c a b", "sent": "a b c"} {
		got := exec(t.Context(), "stats", "--sort", key, url)
		var order []string
		for line := range strings.Lines(got.stdout) {
			if name, _, ok := strings.Cut(strings.TrimSpace(line), ":1 "); ok && len(order) < 3 {
				order = append(order, name)
			}
		}
		if strings.Join(order, " ") != want {
			t.Errorf("--sort %s: %q, want %q\n%s", key, order, want, got.stdout)
		}
	}
}

func TestStatsJSONOfAFleet(t *testing.T) {
	good := serveStats(t, pool.HostStats{Host: "a:1", Totals: pool.Totals{Sent: 1<<64 - 1}})
	bad := noStats(t, http.NotFound)
	got := exec(t.Context(), "stats", "--json", good, bad)
	var entries []struct {
		URL, Error string
		Stats      *pool.Stats
	}
	if err := json.Unmarshal([]byte(got.stdout), &entries); err != nil || len(entries) != 2 {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	if e := entries[0]; e.URL != good || e.Error != "" || e.Stats == nil || e.Stats.Hosts[0].Sent != 1<<64-1 {
		t.Errorf("the good one is %+v", e)
	}
	if e := entries[1]; !strings.Contains(e.URL, "//me:xxxxx@") || !strings.Contains(e.Error, "404 Not Found") || e.Stats != nil {
		t.Errorf("the bad one is %+v", e)
	}
	if got.code != exitFailed || !strings.Contains(got.stderr, "404") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}

// TestStatsPrintsNoControls checks that a process can't write to the terminal by its names.
func TestStatsPrintsNoControls(t *testing.T) {
	url := serveStats(t, pool.HostStats{Host: "a\x1b]0;pwned\a:1\u202e", Conns: []pool.ConnStats{{Addr: "\x1b[2J"}},
		Totals: pool.Totals{Closed: 1, ClosedBy: map[pool.CloseReason]uint64{"\x9b31m": 1}}})
	for _, args := range [][]string{{"stats", url}, {"stats", url, url}} {
		got := exec(t.Context(), args...)
		if got.code != exitOK || strings.ContainsAny(got.stdout, "\x1b\a\u009b\u202e") || !strings.Contains(got.stdout, "a?]0;pwned?:1?") {
			t.Errorf("%q", got.stdout)
		}
	}
}
