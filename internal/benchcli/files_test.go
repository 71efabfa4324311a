package benchcli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/connwise/bench"
)

// execute runs bench with these arguments against a server, and returns the error, what was printed,
// and how many requests the server got.
func execute(t *testing.T, ctx context.Context, args ...string) (string, int64, error) {
	t.Helper()
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer s.Close()
	cmd := New(bench.NetHTTP())
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(new(bytes.Buffer))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--target", s.URL, "--requests", "6", "--workers", "1"}, args...))
	err := cmd.ExecuteContext(ctx)
	return stdout.String(), sent.Load(), err
}

// TestFilesBesideTheTable has table, JSON and page of one run.
func TestFilesBesideTheTable(t *testing.T) {
	dir := t.TempDir()
	jsonFile, htmlFile := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	if err := os.WriteFile(htmlFile, bytes.Repeat([]byte("old"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := execute(t, t.Context(), "--out", jsonFile, "--html", htmlFile)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, "req/s") {
		t.Errorf("no table: %s", stdout)
	}
	f, err := os.Open(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rep, err := bench.ReadReport(f)
	if err != nil || len(rep.Results) != 1 || rep.Results[0].Requests != 6 || !strings.HasPrefix(rep.Command, "bench --target http://127.0.0.1:") {
		t.Errorf("JSON %+v (%v)", rep, err)
	}
	page, err := os.ReadFile(htmlFile)
	if err != nil || !bytes.HasPrefix(page, []byte("<!DOCTYPE html>")) || !bytes.HasSuffix(bytes.TrimSpace(page), []byte("</html>")) || bytes.Contains(page, []byte("oldold")) {
		t.Errorf("the page isn't whole, or not alone (%v)", err)
	}
}

// TestFilesAreRefusedBeforeTheRun holds that nothing is sent for a report that couldn't be kept,
// and that no file is left behind.
func TestFilesAreRefusedBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	same := filepath.Join(dir, "same")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no such directory", []string{"--html", filepath.Join(dir, "none", "r.html")}, "--html: "},
		{"a directory", []string{"--out", dir}, "--out: "},
		{"the second", []string{"--out", filepath.Join(dir, "r.json"), "--html", dir}, "--html: "},
		{"standard output", []string{"--out", "-"}, "--json prints JSON to standard output"},
		{"one file for both", []string{"--out", same, "--html", same}, "--out and --html are the same file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, sent, err := execute(t, t.Context(), tt.args...)
			if err == nil || !IsUsage(err) || !strings.Contains(err.Error(), tt.want) || sent != 0 {
				t.Errorf("error %v after %d requests, want one of usage with %q after none", err, sent, tt.want)
			}
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestFilesStayWithoutAReport holds that a run without a row neither changes a file nor makes one.
func TestFilesStayWithoutAReport(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.json")
	if err := os.WriteFile(old, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := execute(t, ended, "--out", old, "--html", filepath.Join(dir, "new.html")); err == nil {
		t.Fatal("a run that ended before it began is no error")
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "before" {
		t.Errorf("the old file has %q (%v)", text, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
