package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/connwise/internal/peer"
	"example.com/connwise/internal/probe"
)

func TestProbeCommandLines(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	down := strings.Replace(closed.URL, "http://", "http://me:secret@", 1)
	noCert := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(noCert, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args   string
		code   int
		stderr []string // substrings; none: stderr is empty
	}{
		{"--help", exitOK, nil},
		{"--dry-run https://me:secret@h/", exitOK, nil},

		{"", exitUsage, []string{"give the URL to measure", "See 'connwise probe --help'"}},
		{"http://a/ http://b/", exitUsage, []string{"one URL, got 2"}},
		{"--nonsense http://h/", exitUsage, []string{"unknown flag: --nonsense"}},
		{"localhost:8080", exitUsage, []string{"give a URL like https://host:port/path"}},
		{"http://me:secret@h:bad", exitUsage, []string{"no URL"}},
		{"--proto= http://h/", exitUsage, []string{`protocol ""`, "h1 or h2c"}},
		{"--proto h2 http://h/", exitUsage, []string{`protocol "h2"`, "with http it must be h1 or h2c"}},
		{"--method POST http://h/", exitUsage, []string{`method "POST"`, "GET, HEAD or OPTIONS"}},
		{"--conns 0 http://h/", exitUsage, []string{"--conns must be more than 0"}},
		{"--conns 33 http://h/", exitUsage, []string{"must be 1 to 32"}},
		{"--max 0s http://h/", exitUsage, []string{"--max must be more than 0"}},
		{"--max -1s http://h/", exitUsage, []string{"max -1s: must be more than 0"}},
		{"--timeout 0s http://h/", exitUsage, []string{"--timeout must be more than 0"}},
		{"--requests -1 http://h/", exitUsage, []string{"--requests -1: must not be negative"}},
		{"--header secret http://h/", exitUsage, []string{"must be like 'Name: value'"}},
		{"--header Connection:secret http://h/", exitUsage, []string{"header field Connection: the probe sets it itself"}},
		{"--ca /nonexistent/ca.pem http://h/", exitUsage, []string{"--ca", "no such file"}},
		{"--ca " + noCert + " http://h/", exitUsage, []string{"there is no PEM certificate in it"}},
		{down, exitFailed, []string{"probing http://me:xxxxx@", "refused"}},
		{"--json " + down, exitFailed, []string{"refused"}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			got := exec(t.Context(), append([]string{"probe"}, strings.Fields(tt.args)...)...)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got.code, tt.code, got.stderr)
			}
			if len(tt.stderr) == 0 && got.stderr != "" {
				t.Errorf("stderr isn't empty:\n%s", got.stderr)
			}
			for _, want := range tt.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
				}
			}
			if (tt.code == exitOK) != (got.stdout != "") {
				t.Errorf("stdout:\n%s", got.stdout)
			}
			if strings.Contains(got.stderr+got.stdout, "secret") {
				t.Errorf("a secret shows:\n%s%s", got.stdout, got.stderr)
			}
		})
	}
}

// startTLS starts a server that ends idle connections, and returns its URL and a file with
// its authority.
func startTLS(t *testing.T, f peer.Faults) (url, ca string) {
	t.Helper()
	a, err := peer.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	s, err := peer.Start(a, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, a.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "https://" + s.Addr() + "/", ca
}

// TestProbeMeasures runs the command against a server with known habits. Unused connections
// live until --max there.
func TestProbeMeasures(t *testing.T) {
	url, ca := startTLS(t, peer.Faults{IdleTimeout: 300 * time.Millisecond, MaxRequests: 20, Announce: true})
	args := []string{"probe", "--ca", ca, "--max", "1s", "--conns", "3", url}
	got := exec(t.Context(), args...)
	if got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, want := range []string{url + " over h1s, at 127.0.0.1:", "HTTP/1.1, TLS 1.3, ALPN http/1.1",
		"20 (connection: close)", "close_notify, fin", "longer than ", "pool.Config{\n\t// h1s: the server ended 3 of 3 connections after "} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	if !strings.Contains(got.stderr, "at most 12 connections and 2206 requests in all") {
		t.Errorf("stderr doesn't say what is sent:\n%s", got.stderr)
	}

	got = exec(t.Context(), append(args, "--json")...)
	var rep probe.Report
	if err := json.Unmarshal([]byte(got.stdout), &rep); err != nil {
		t.Fatalf("stdout isn't JSON alone: %v\n%s", err, got.stdout)
	}
	p := rep.Protocols[0]
	if idle := p.Idle.Median.Duration(); idle < 200*time.Millisecond || idle > 1500*time.Millisecond || p.Requests.Served != 20 || rep.Advice == nil {
		t.Errorf("report %+v, idle %+v", rep, p.Idle)
	}
}

// TestProbeInterrupted ends a probe that would take an hour.
func TestProbeInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Last") != "" {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
	}))
	defer s.Close()
	got := exec(ctx, "probe", "--max", "1h", "--requests", "0", "--header", "X-Last: yes", s.URL)
	if got.code != exitFailed || !strings.Contains(got.stderr, "connwise: probe: interrupted after ") || strings.Contains(got.stderr, "See '") {
		t.Errorf("exit code %d, stderr %s", got.code, got.stderr)
	}
	if !strings.Contains(got.stdout, "longer than ") || !strings.Contains(got.stdout, "Too little is known") {
		t.Errorf("what was known isn't printed:\n%s", got.stdout)
	}
}

func TestProbeErrorsOfStdout(t *testing.T) {
	url, ca := startTLS(t, peer.Faults{IdleTimeout: 50 * time.Millisecond})
	for _, args := range []string{"--dry-run", "--json", "--no-progress"} {
		var stderr strings.Builder
		code := run(t.Context(), []string{"probe", "--ca", ca, "--max", "200ms", "--requests", "0", args, url}, full{}, &stderr)
		if code != exitFailed || !strings.HasSuffix(stderr.String(), "connwise: probe: disk full\n") {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr.String())
		}
	}
}

// TestProbeTable pins what people read, for a report with something in each row.
func TestProbeTable(t *testing.T) {
	const ms = probe.Millis(time.Millisecond)
	streams := uint32(128)
	away := []probe.GoAway{{LastStream: 1<<31 - 1, Code: "NO_ERROR"}, {LastStream: 39, Code: "NO_ERROR", Debug: "bye"}}
	rep := &probe.Report{
		URL: "https://h/", Address: "192.0.2.1:443",
		Protocols: []probe.Protocol{
			{
				Proto: "h2", HTTP: "HTTP/2.0", TLS: "TLS 1.3", ALPN: "h2", RTT: 3 * ms, Status: 200, Server: "x",
				Idle: &probe.Endings{Conns: 6, Ended: 5, Min: 999 * ms, Median: 1000 * ms, Max: 1030 * ms, OpenFor: 60_000 * ms, Last: 1003 * ms,
					How:    []probe.How{{Words: "goaway, close_notify, fin", Conns: 4}, {Words: "reset", Conns: 1}},
					GoAway: "two-step", GoAways: away},
				Unused:     &probe.Endings{Conns: 2, OpenFor: 15_000 * ms},
				Requests:   probe.Requests{Served: 20, Limited: true, By: "goaway", GoAway: "two-step", GoAways: away, Ending: "goaway, lingers"},
				MaxStreams: &streams,
				Checks:     []probe.Check{{Age: 500 * ms, Result: "answered"}},
				Notes:      []string{"something else"},
			},
			{Proto: "h1s", HTTP: "HTTP/1.1", TLS: "TLS 1.3", Status: 204, Requests: probe.Requests{Served: 1100, By: "all sent"},
				KeepAlive: &probe.Hint{Text: "timeout=5"}, Idle: &probe.Endings{}},
			{Proto: "h1", Error: "refused"},
		},
		Advice: &probe.Advice{Measured: true, Go: "pool.Config{\n}"},
	}
	var b strings.Builder
	if err := writeProbeTable(&b, rep); err != nil {
		t.Fatal(err)
	}
	if b.String() != wantProbeTable {
		t.Errorf("the table is\n%s\nwant\n%s", b.String(), wantProbeTable)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line); n > 113 {
			t.Errorf("a line of %d characters:\n%s", n, line)
		}
	}
}

const wantProbeTable = `https://h/ over h2, at 192.0.2.1:443
 what               measured
─────────────────────────────────────────────────────────────────────────────────────────────────────
 protocol           HTTP/2.0, TLS 1.3, ALPN h2
 first answer       200, Server: x
 connecting took    3ms
 keep-alive hint    none
 idle               1s (999ms to 1.03s, 5 connections); 1 still open after 1m0s
 idle, ended by     goaway, close_notify, fin (4); reset (1); 1.003s from the first word to the last
 idle, goaway       two-step: last=2^31-1 NO_ERROR, last=39 NO_ERROR "bye"
 unused             longer than 15s (2 connections)
 requests           20 (goaway)
 requests, then     goaway, lingers
 requests, goaway   two-step: last=2^31-1 NO_ERROR, last=39 NO_ERROR "bye"
 streams at a time  128
 used again         after 500ms: answered
 note: something else

https://h/ over h1s, at 192.0.2.1:443
 what             measured
─────────────────────────────────────────────
 protocol         HTTP/1.1, TLS 1.3, no ALPN
 first answer     204
 connecting took  0s
 keep-alive hint  timeout=5
 idle             unknown
 requests         1100 and more (all sent)

https://h/ over h1, at 192.0.2.1:443
  not measured: refused

Recommended, for a pool.Transport to this host (or in Config.Hosts, for this host alone):

pool.Config{
}
`

func TestProbeProgressText(t *testing.T) {
	got := probeText(probe.Progress{Open: 6, Ended: 2, Requests: 20, Known: []string{"h1 idle 3.001s"}})
	if want := "6 open, 2 ended, 20 requests, h1 idle 3.001s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
