package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/connwise/internal/sidecar"
)

func TestProxyCommandLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxy.yml")
	if err := os.WriteFile(file, []byte("pool:\n  max_wait: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		code   int
		stdout string // a part; empty: nothing
		stderr string // a part; empty: nothing
	}{
		{"proxy", exitUsage, "", "connwise: upstream: is missing; write http://HOST:PORT"},
		{"proxy http://a", exitUsage, "", `proxy takes no arguments, got "http://a"`},
		{"proxy --upstream http://me:secret@a", exitUsage, "", "--upstream: has credentials in it"},
		{"proxy --upstream http://a --listen 0.0.0.0:1", exitUsage, "", "--listen: 0.0.0.0:1 can be reached from other machines"},
		{"proxy --upstream http://a --pool-max-wait 5", exitUsage, "", `--pool-max-wait: 5 has no unit; write 5s, 5ms or 5m`},
		{"proxy --upstream http://a --dial-proxy ftp://me:secret@b", exitUsage, "", "--dial-proxy: is no proxy that is spoken to here"},
		{"proxy --upstream http://a --log-requests=perhaps", exitUsage, "", "--log-requests: "},
		{"proxy --check --upstream http://a --config " + file, exitUsage, "", file + ":2: pool.max_wait: 5 has no unit"},
		{"proxy --check --upstream http://a --config " + file + ".none", exitUsage, "", "no such file"},
		{"proxy --check --upstream http://a --listen 0.0.0.0:1 --listen-anywhere", exitOK, "the settings are right\n", ""},
		{"proxy --print-config --upstream http://a --pool-max-conns 7 --log-requests", exitOK, "  max_conns: 7\n", ""},
		{"proxy --upstream http://a --listen unix:/nowhere/at/all", exitFailed, "", "proxy: listen: "},
		{"completion bash", exitOK, "__connwise", ""},
		{"completion nope", exitUsage, "", `unknown shell "nope"; known: bash, fish, powershell, zsh`},
		{"__complete proxy --retry-policy=", exitOK, "never-timeouts\n", "ShellCompDirectiveNoFileComp"},
		{"__complete proxy --retry-stages-tls=", exitOK, "not-timeouts\n", "ShellCompDirectiveNoFileComp"},
		{"man", exitUsage, "", "accepts 1 arg"},
		{"man " + file, exitFailed, "", "man: "},
	} {
		t.Run(tt.args, func(t *testing.T) {
			got := exec(t.Context(), strings.Fields(tt.args)...)
			if got.code != tt.code || !strings.Contains(got.stdout, tt.stdout) || !strings.Contains(got.stderr, tt.stderr) ||
				tt.stdout == "" && got.stdout != "" || tt.stderr == "" && got.stderr != "" || strings.Contains(got.stderr, "secret") {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if got := exec(t.Context(), "man", dir); got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	for _, c := range newRoot().Commands() {
		if c.Name() == "help" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, "connwise-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		page := string(b)
		if !strings.Contains(page, ".SH EXAMPLE") || !strings.Contains(page, ".SH SEE ALSO") {
			t.Errorf("the page of %s lacks a section:\n%s", c.Name(), page)
		}
		if strings.Contains(page, "cobra") {
			t.Errorf("the page of %s advertises", c.Name())
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "connwise-proxy.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n.EX\npool:\n  max_conns: 200\n.EE\n", `\fB--pool-proxy-idle-timeout\fP=none`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("connwise-proxy.1 lacks %q:\n%s", want, b)
		}
	}
}

// A proxyProcess is the command, run as such.
type proxyProcess struct {
	cmd  *osexec.Cmd
	log  *bufio.Scanner
	seen strings.Builder
}

func startProcess(t *testing.T, args ...string) *proxyProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &proxyProcess{cmd: osexec.CommandContext(t.Context(), exe, args...)}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.log = bufio.NewScanner(stderr)
	return p
}

// line reads the log until a line matches, and returns what its groups match.
func (p *proxyProcess) line(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for p.log.Scan() {
		fmt.Fprintln(&p.seen, p.log.Text())
		if m := re.FindStringSubmatch(p.log.Text()); m != nil {
			return m
		}
	}
	t.Fatalf("the log ended without %q:\n%s", pattern, &p.seen)
	return nil
}

// TestProxyProcess runs the command itself: it serves, reloads at SIGHUP, and at SIGTERM ends with the
// request under way answered.
func TestProxyProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGHUP")
	}
	began, finish := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(began)
			<-finish
		}
		fmt.Fprint(w, r.Header.Get("Via"))
	}))
	defer up.Close()
	file := filepath.Join(t.TempDir(), "proxy.yml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("upstream: " + up.URL)
	p := startProcess(t, "proxy", "--config", file, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	m := p.line(t, `msg=listening clients=(\S+) upstream=\S+ admin=(\S+)`)
	url, admin := m[1], m[2]
	get := func(url string) string {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.Status + " " + string(b)
	}
	defer http.DefaultClient.CloseIdleConnections()

	if got := get(url); got != "200 OK 1.1 connwise" {
		t.Errorf("got %q", got)
	}
	write("upstream: " + up.URL + "\nforward: {via: other, hots: x}")
	_ = p.cmd.Process.Signal(syscall.SIGHUP)
	p.line(t, `level=ERROR msg="reload refused.*proxy.yml:2: forward.hots: is no setting; did you mean forward.host\?`)
	write("upstream: " + up.URL + "\nforward: {via: other}")
	_ = p.cmd.Process.Signal(syscall.SIGHUP)
	p.line(t, `msg=reloaded`)
	if got := get(url); got != "200 OK 1.1 other" {
		t.Errorf("after a reload got %q", got)
	}
	for path, want := range map[string]string{
		"/metrics": `connwise_proxy_reloads_total{result="refused"} 1`, "/healthz": "200 OK ok", "/-/config": "\n  via: other\n", "/": `"hosts"`, "/nope": "404"} {
		if got := get(admin + path); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, got)
		}
	}

	answer := make(chan string, 1)
	go func() { answer <- get(url + "/slow") }()
	<-began
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.line(t, `msg=draining requests=1`)
	close(finish)
	if got := <-answer; got != "200 OK 1.1 other" {
		t.Errorf("the request under way got %q", got)
	}
	p.line(t, `msg=ended`)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the process: %v; its log:\n%s", err, &p.seen)
	}
}

// TestProxyMetrics checks the names, and that a reload that makes a new pool brings no error.
func TestProxyMetrics(t *testing.T) {
	set, err := sidecar.Load(sidecar.Source{Flags: []sidecar.Flag{{Key: "upstream", Text: "http://127.0.0.1:1"}, {Key: "retry.policy", Text: "off"}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sidecar.NewProxy(set, newLogger(io.Discard, set))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := newProxyMetrics(p).(*proxyMetrics)
	for range 2 {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader("x")))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d", w.Code)
		}
		all, err := prometheus.Gatherers{m.own, m.current()}.Gather()
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.NewWithMetricFamilies(all).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("promlint: %v, %v", problems, err)
		}
		if set, err = sidecar.Load(sidecar.Source{Flags: []sidecar.Flag{{Key: "upstream", Text: "http://127.0.0.1:2"}}}); err != nil {
			t.Fatal(err)
		}
		if err := p.Use(set); err != nil {
			t.Fatal(err)
		}
	}
	rec := httptest.NewRecorder()
	m.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`connwise_proxy_failures_total{status="503"} 2`, "connwise_proxy_requests_total 2", "connwise_proxy_replay_bytes 0"} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, rec.Body)
		}
	}
}
