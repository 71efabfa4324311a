package benchcli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/connwise/bench"
	"example.com/connwise/internal/benchdiff"
)

// reportFileOf writes a report of one row with so many calls lost.
func reportFileOf(t *testing.T, lost int64) (path, text string) {
	t.Helper()
	rep := bench.Report{Results: []bench.Result{{Scenario: "steady", Proto: "h1", Client: "connwise", Requests: 10, Lost: &lost}}}
	var b strings.Builder
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, b.String()
}

// compareArgs runs "bench compare" with these arguments.
func compareArgs(stdin string, args ...string) (string, error) {
	cmd := New(bench.NetHTTP())
	var stdout bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&stdout)
	cmd.SetErr(new(bytes.Buffer))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"compare"}, args...))
	err := cmd.Execute()
	return stdout.String(), err
}

func TestCompareSaysWhatIsWorse(t *testing.T) {
	none, _ := reportFileOf(t, 0)
	some, text := reportFileOf(t, 3)
	out, err := compareArgs(text, none, "-")
	if err != nil || !strings.Contains(out, "1 worse, 0 better") || !strings.Contains(out, "lost") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = compareArgs("", none, some, "--fail-on-worse", "--json")
	if err == nil || IsUsage(err) || !strings.Contains(err.Error(), "worse: 1") {
		t.Errorf("error %v, want one of the run", err)
	}
	var c benchdiff.Comparison
	if jerr := json.Unmarshal([]byte(out), &c); jerr != nil || c.Count(benchdiff.Worse) != 1 || c.A.Name != none {
		t.Errorf("JSON %v: %s", jerr, out)
	}
	if out, err = compareArgs("", none, none, "--fail-on-worse"); err != nil || !strings.Contains(out, "0 worse, 0 better") {
		t.Errorf("a report beside itself: %v: %s", err, out)
	}
}

// TestCompareRefuses has what is a mistake on the command line.
func TestCompareRefuses(t *testing.T) {
	good, _ := reportFileOf(t, 0)
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"results":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no report", []string{good, bad}, "bad.json: bench: not a report"},
		{"no file", []string{bad + "x", good}, "bad.jsonx"},
		{"a directory", []string{filepath.Dir(good), good}, "directory"},
		{"standard input twice", []string{"-", "-"}, "only one"},
		{"nothing on standard input", []string{"-", good}, "not a report"},
		{"no such client", []string{good, good, "--clients", "curl"}, `no row of the reports is of "curl"`},
		{"alpha", []string{good, good, "--alpha", "0"}, "--alpha must be"},
		{"alpha that is no number", []string{good, good, "--alpha", "NaN"}, "--alpha must be"},
		{"least", []string{good, good, "--least", "-1"}, "--least must be"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := compareArgs("", tt.args...)
			if err == nil || !IsUsage(err) || !strings.Contains(err.Error(), tt.want) || out != "" {
				t.Errorf("error %v, want one of usage with %q; %s", err, tt.want, out)
			}
		})
	}
	if _, err := compareArgs("", good); err == nil {
		t.Error("one report was compared")
	}
}

// TestCompareOfNothingInCommon fails where that was asked to tell.
func TestCompareOfNothingInCommon(t *testing.T) {
	one, text := reportFileOf(t, 0)
	out, err := compareArgs(strings.ReplaceAll(text, `"h1"`, `"h2"`), one, "-")
	if err != nil || !strings.Contains(out, "no figure in common") || !strings.Contains(out, "Only in A: steady h1 connwise") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := compareArgs(strings.ReplaceAll(text, `"h1"`, `"h2"`), one, "-", "--fail-on-worse"); err == nil {
		t.Error("nothing was compared, and it passed")
	}
}
