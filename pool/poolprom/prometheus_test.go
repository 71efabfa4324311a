//go:build prometheus

package poolprom_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests need Debian's package prometheus, which has promtool too: make test-prometheus.

// tool is where a program of the package is. In CI it has to be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%v: install the package prometheus", err)
	}
	t.Skip(err)
	return ""
}

func promtool(t *testing.T, stdin io.Reader, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, "promtool"), args...)
	cmd.Stdin = stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestAlertRules(t *testing.T) {
	promtool(t, nil, "check", "rules", "alerts.yml")
	promtool(t, nil, "test", "rules", "testdata/alerts_test.yml")
}

// A server is a Prometheus that scrapes this process.
type server struct {
	*testing.T
	url    string
	client http.Client
}

func startPrometheus(t *testing.T, target string) *server {
	t.Helper()
	path, dir := tool(t, "prometheus"), t.TempDir()
	rules, err := filepath.Abs("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: service, static_configs: [{targets: [%q]}]}]\n", rules, target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	var log bytes.Buffer
	cmd := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("prometheus: %v\n%s", err, &log)
		}
	})
	return &server{t, "http://" + addr, http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

func freeAddr(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// api asks Prometheus's HTTP API and decodes what it says into data.
func (s *server) api(path string, data any) error {
	resp, err := s.client.Get(s.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Data  any    `json:"data"`
		Error string `json:"error"`
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s", answer.Error)
	}
	return nil
}

// numbers is how many series a query returns that have a number.
func (s *server) numbers(expr string) (n int, err error) {
	var data struct {
		Result []struct {
			Value [2]any `json:"value"`
		} `json:"result"`
	}
	if err := s.api("/api/v1/query?query="+url.QueryEscape(expr), &data); err != nil {
		return 0, err
	}
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
			n++
		}
	}
	return n, nil
}

// eventually asks f again until it has nothing to complain of.
func (s *server) eventually(what string, f func() error) {
	s.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(25 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			s.Errorf("%s: %v", what, err)
			return
		case <-tick.C:
		}
	}
}

// A real Prometheus scrapes a service whose pool has every kind of trouble: each query of the
// dashboard returns data, and each alert that the trouble is about is raised, with annotations that
// make sense.
func TestPrometheus(t *testing.T) {
	service := startTrouble(t)
	s := startPrometheus(t, service.addr)
	text := s.metrics(service.addr)
	promtool(t, bytes.NewReader(text), "check", "metrics")
	s.eventually("no query works", func() error {
		n, err := s.numbers(`count_over_time(up{job="service"}[1m]) >= 6 and up == 1`)
		if err == nil && n == 0 {
			err = fmt.Errorf("no scrape yet")
		}
		return err
	})
	for _, p := range readDashboard(t).queries() {
		s.eventually("panel "+p.panel, func() error {
			n, err := s.numbers(p.filled("4s"))
			if err == nil && n == 0 {
				err = fmt.Errorf("no data for %s", p.filled("4s"))
			}
			return err
		})
	}
	s.wantRules(t)
	s.wantAlerts("ConnwiseWaitsNearDeadline", "ConnwiseWaitTimeouts", "ConnwiseConnectionsClosedInUse", "ConnwiseGoAwayStorm",
		"ConnwiseDialFailures", "ConnwiseHostUnreachable", "ConnwiseRetryBudgetLow", "ConnwiseRetryBudgetSpent")
}

func (s *server) metrics(addr string) []byte {
	resp, err := s.client.Get("http://" + addr + "/metrics")
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return text
}

// wantRules checks that all rules are evaluated without an error.
func (s *server) wantRules(t *testing.T) {
	s.eventually("rules", func() error {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string } `json:"rules"`
			} `json:"groups"`
		}
		if err := s.api("/api/v1/rules", &data); err != nil {
			return err
		}
		n := 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				n++
				if r.Health != "ok" {
					return fmt.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		if want := len(alertNames(t)); n != want {
			return fmt.Errorf("%d rules, want %d", n, want)
		}
		return nil
	})
}

// wantAlerts checks that they are pending at least: they would be raised if it went on for minutes.
func (s *server) wantAlerts(names ...string) {
	for _, name := range names {
		s.eventually("alert "+name, func() error {
			var data struct {
				Alerts []struct{ Labels, Annotations map[string]string } `json:"alerts"`
			}
			if err := s.api("/api/v1/alerts", &data); err != nil {
				return err
			}
			for _, a := range data.Alerts {
				if a.Labels["alertname"] != name {
					continue
				}
				for _, text := range a.Annotations {
					if strings.Contains(text, "<no value>") || strings.Contains(text, "error") && strings.Contains(text, "template") {
						return fmt.Errorf("an annotation says %q", text)
					}
				}
				return nil
			}
			return fmt.Errorf("isn't pending")
		})
	}
}
