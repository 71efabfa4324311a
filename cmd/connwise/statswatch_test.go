package main

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/pool"
)

// A script is what processes answer, sample by sample; nil: the process is down. Each answer
// takes the time that it says.
type watchScript struct {
	samples [][]*pool.Stats
	took    time.Duration
	n       int
	end     func()
}

func (s *watchScript) fetch(ctx context.Context, urls []string) []fetched {
	if s.n == len(s.samples) {
		s.end()
		return nil
	}
	time.Sleep(s.took)
	var all []fetched
	for i, stats := range s.samples[s.n] {
		f := fetched{url: urls[i], at: time.Now()}
		if stats == nil {
			f.err = errors.New("stats: " + urls[i] + ": refused")
		} else {
			f.stats = *stats
		}
		all = append(all, f)
	}
	s.n++
	return all
}

// watchFrames runs a script, and returns each frame as it is logged.
func watchFrames(t *testing.T, sort string, s *watchScript) (frames []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.end = cancel
		var out strings.Builder
		w := watch{
			urls:   []string{"http://one", "http://two"}[:len(s.samples[0])],
			opts:   &statsOptions{watch: 2 * time.Second, timeout: time.Second, sort: sort},
			fetch:  s.fetch,
			screen: &logScreen{w: &out},
		}
		if err := w.run(ctx); err != nil {
			t.Error(err)
		}
		frames = strings.Split(out.String(), "\n\n")
	})
	if len(frames) != len(s.samples) {
		t.Fatalf("%d frames of %d samples", len(frames), len(s.samples))
	}
	return frames
}

func process(sent uint64, more ...pool.HostStats) *pool.Stats {
	h := pool.HostStats{Host: "api:80", Scheme: "http", Open: 2, Totals: pool.Totals{Sent: sent, Dials: 1}}
	return &pool.Stats{Hosts: append([]pool.HostStats{h}, more...), Total: h.Totals}
}

// sentOf is the rate of requests in a host's row.
func sentOf(t *testing.T, frame string, host ...string) string {
	t.Helper()
	return row(t, frame, host...)[len(statsGauges)]
}

func TestWatchShowsRates(t *testing.T) {
	late := pool.HostStats{Host: "late:80", Scheme: "http", Totals: pool.Totals{Sent: 50}}
	frames := watchFrames(t, "sent", &watchScript{took: 500 * time.Millisecond, samples: [][]*pool.Stats{
		{process(1000), process(5)},
		{process(1100), process(25)},
		{process(1100, late), process(25)},
		{process(1101, late), process(25)},
	}})
	for i, want := range []string{"-", "60.0", "0", "0.50"} {
		if got := sentOf(t, frames[i], "api:80", "http"); got != want {
			t.Errorf("sample %d: %s requests a second, want %s\n%s", i, got, want, frames[i])
		}
	}
	if got := sentOf(t, frames[2], "late:80", "http"); got != "25.0" {
		t.Errorf("a host that came later sent %s, want 25.0", got)
	}
	if got := sentOf(t, frames[2], "all", "2", "hosts"); got != "25.0" {
		t.Errorf("all hosts sent %s, want 25.0", got)
	}
	if a, b := strings.Index(frames[2], "late:80"), strings.Index(frames[2], "api:80"); a > b {
		t.Errorf("--sort sent doesn't sort by the rate:\n%s", frames[2])
	}
	if row := row(t, frames[0], "api:80", "http"); row[0] != "4" {
		t.Errorf("%s open, want the 4 of both processes", row[0])
	}
}

func TestWatchOutlivesRestartsAndOutages(t *testing.T) {
	frames := watchFrames(t, "host", &watchScript{samples: [][]*pool.Stats{
		{process(1000), nil},
		{process(1100), nil},
		{nil, nil},
		{nil, process(7)},
		{process(1400), process(27)}, // 300 in the 6 s since the last answer
		{process(40), process(47)},   // restarted
		{process(60), process(67)},
	}})
	for i, want := range []string{"-", "50.0", "", "-", "60.0", "30.0", "20.0"} {
		if want == "" {
			if strings.Contains(frames[i], "api:80") {
				t.Errorf("sample %d has hosts of processes that are down:\n%s", i, frames[i])
			}
			continue
		}
		if got := sentOf(t, frames[i], "api:80", "http"); got != want {
			t.Errorf("sample %d: %s requests a second, want %s\n%s", i, got, want, frames[i])
		}
	}
	for i, notes := range [][]string{
		{"1 of 2 processes", "down for 0s: http://two: refused"},
		{"down for 2s: http://two: refused"},
		{"0 of 2 processes", "down for 0s: http://one: refused", "down for 4s: http://two: refused"},
		{"down for 2s: http://one: refused"},
		{"2 of 2 processes"},
		{"restarted 0s ago: http://one"},
		{"restarted 2s ago: http://one"},
	} {
		for _, want := range notes {
			if !strings.Contains(frames[i], want+"\n") && !strings.Contains(frames[i], want+"  ") && !strings.HasSuffix(frames[i], want) {
				t.Errorf("sample %d lacks %q:\n%s", i, want, frames[i])
			}
		}
		if got := strings.Count(frames[i], "down for"); got != strings.Count(strings.Join(notes, "\n"), "down for") {
			t.Errorf("sample %d: %d processes are down:\n%s", i, got, frames[i])
		}
	}
}

// TestWatchEndsWell watches a process by the command line until it is ended.
func TestWatchEndsWell(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	srv := httptest.NewServer(pool.StatsHandler(statsFunc(func() pool.Stats {
		if asked++; asked == 3 {
			cancel()
		}
		return *process(uint64(asked) * 1000)
	})))
	defer srv.Close()
	got := exec(ctx, "stats", "--watch=100ms", srv.URL)
	if got.code != exitOK || got.stderr != "" || strings.Count(got.stdout, "api:80") != 2 || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", got.code, got.stderr, got.stdout)
	}
	var stderr strings.Builder
	code := run(t.Context(), []string{"stats", "--watch=100ms", serveStats(t)}, full{}, &stderr)
	if code != exitFailed || stderr.String() != "connwise: stats: disk full\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// TestTerminalDrawsInPlace checks what a terminal gets: frames that fit, one over the other.
func TestTerminalDrawsInPlace(t *testing.T) {
	var out strings.Builder
	width, height := 60, 10
	term := &terminal{w: &out, size: func() (int, int, error) { return width, height, nil }}
	restored := false
	term.restore = func() { restored = true }
	if err := term.begin(); err != nil {
		t.Fatal(err)
	}
	f := frame{title: "now", notes: []string{"down\x1b[2J\nand out"}, fleet: &fleet{merged: true}}
	var hosts []pool.HostStats
	for _, name := range "abcdefghij" {
		hosts = append(hosts, pool.HostStats{Host: string(name) + ":80", Scheme: "http"})
	}
	f.fleet.add(hosts)
	draw := func() []string {
		out.Reset()
		if err := term.draw(f); err != nil {
			t.Fatal(err)
		}
		s, ok := strings.CutPrefix(out.String(), cursorHome)
		s, end := strings.CutSuffix(s, eraseBelow)
		if !ok || !end || strings.Contains(strings.ReplaceAll(s, "\r\n", ""), "\n") {
			t.Errorf("drawn %q", out.String())
		}
		return strings.Split(s, "\r\n")
	}
	lines := draw()
	if len(lines) != height {
		t.Errorf("%d lines, want %d", len(lines), height)
	}
	for _, line := range lines {
		text, ok := strings.CutSuffix(line, eraseLine)
		if n := len([]rune(text)); !ok || n > width || strings.Contains(text, "\x1b") {
			t.Errorf("a line of %d: %q", n, line)
		}
	}
	if lines[0] != "now  q quits"+eraseLine || lines[1] != "down?[2J and out"+eraseLine || lines[height-1] != "6 more, for which there is no room"+eraseLine {
		t.Errorf("drawn %q", lines)
	}
	width, height = 300, 50
	if lines := draw(); len(lines) != 2+2+10+1 || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " j:80") }) {
		t.Errorf("with room for all: %q", lines)
	}
	out.Reset()
	term.close()
	term.close()
	if out.String() != leaveScreen || !restored {
		t.Errorf("at the end %q, restored: %v", out.String(), restored)
	}
}

func TestKeysEndTheWatch(t *testing.T) {
	for keys, want := range map[string]bool{"q": true, "xyzQ": true, "\x03": true, "abc": false, "": false} {
		quit := false
		waitForQuit(io.MultiReader(strings.NewReader(keys)), func() { quit = true })
		if quit != want {
			t.Errorf("keys %q: ended %v, want %v", keys, quit, want)
		}
	}
}
