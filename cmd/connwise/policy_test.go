package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

func TestPolicyTable(t *testing.T) {
	cell := func(preset, phase, timeout, method string) string {
		t.Helper()
		got := exec(t.Context(), "policy", preset)
		lines := strings.Split(got.stdout, "\n")
		head := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, " evidence ") })
		if head < 0 {
			t.Fatalf("no table in:\n%s", got.stdout)
		}
		columns := strings.Fields(lines[head])
		column := slices.Index(columns, method) - len(columns) // from the end: evidence is two words
		for _, line := range lines[head+2:] {
			if f := strings.Fields(line); strings.Contains(line, "  "+phase+"  ") && f[len(f)-len(columns)+2] == timeout {
				return f[len(f)+column]
			}
		}
		t.Fatalf("no row %s %s in:\n%s", phase, timeout, got.stdout)
		return ""
	}
	tests := []struct{ preset, phase, timeout, method, want string }{
		{"default", "unsent", "no", "POST", "yes"},
		{"default", "sent", "no", "POST", "key"},
		{"default", "sent", "no", "GET", "yes"},
		{"never-timeouts", "dial", "yes", "GET", "-"},
		{"never-timeouts", "sent", "no", "POST", "call"},
	}
	for _, tt := range tests {
		if got := cell(tt.preset, tt.phase, tt.timeout, tt.method); got != tt.want {
			t.Errorf("%s: %s %s after phase %s: %q, want %q", tt.preset, tt.method, tt.timeout, tt.phase, got, tt.want)
		}
	}
}

// TestPolicyHeadOnly: the row has the opt-in's verdicts, and its neighbour doesn't.
func TestPolicyHeadOnly(t *testing.T) {
	for flag, wants := range map[string][]string{
		"--json=false": {
			"maybe sent sending, head only no yes yes yes call call call call call",
			"maybe sent sending no yes yes yes call call call call call",
		},
		"--resend-head-only": {
			"maybe sent sending, head only no yes yes yes yes yes yes yes yes",
			"maybe sent sending, head only yes - - - - - - - -",
			"maybe sent sending no yes yes yes call call call call call",
		},
	} {
		var lines []string
		for line := range strings.Lines(exec(t.Context(), "policy", "never-timeouts", flag).stdout) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		for _, want := range wants {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: no line %q in:\n%s", flag, want, strings.Join(lines, "\n"))
			}
		}
	}
}

// TestPolicyGolden pins what is printed of every preset; CONNWISE_GOLDEN=write writes it anew. The
// default's is in the README.
func TestPolicyGolden(t *testing.T) {
	const file = "testdata/policies.golden"
	var all strings.Builder
	for _, name := range retry.Names() {
		all.WriteString("$ connwise policy " + name + "\n" + exec(t.Context(), "policy", name).stdout + "\n")
	}
	if os.Getenv("CONNWISE_GOLDEN") == "write" {
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != string(want) {
		t.Errorf("the presets aren't those of %s:\n%s", file, all.String())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(exec(t.Context(), "policy").stdout, "\n\n  yes ")
	if !strings.Contains(string(readme), table) {
		t.Errorf("the README doesn't show the default:\n%s", table)
	}
}

func TestPolicyJSON(t *testing.T) {
	got := exec(t.Context(), "policy", "once", "--json")
	var m matrix
	if err := json.Unmarshal([]byte(got.stdout), &m); err != nil {
		t.Fatal(err)
	}
	p, _ := retry.Named("once")
	if m.Policy != "once" || !slices.Equal(m.Rows, retry.Matrix(p)) {
		t.Errorf("policy %q with %d rows isn't the preset's matrix", m.Policy, len(m.Rows))
	}
}

func TestPolicyText(t *testing.T) {
	for preset, wants := range map[string][]string{
		"default":        {"policy default\n", "longest: 4 attempts, and waits of 1.05s", "as long as nobody has read", "2 at most", "100ms, then 200ms (doubling)", "up to 50 %", "X-Idempotency-Key header, or", "whatever its status", "call  sent again only"},
		"system-b":       {"policy system-b\n", "longest: 2 attempts, and waits of 200ms"},
		"never-timeouts": {"others get one attempt", "2 at most", "an Idempotency-Key header means nothing"},
		"once":           {"1 at most", " 100ms, each lengthened at random by up to 100 %"},
		"safe-only":      {"only GET, HEAD", "opt-in:  none", "429 Too Many Requests with a Retry-After of 30s"},
	} {
		got := exec(t.Context(), "policy", preset)
		for _, want := range wants {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s lacks %q:\n%s", preset, want, got.stdout)
			}
		}
	}
	if got := exec(t.Context(), "policy", "off"); got.stdout != "policy off: nothing is sent again\n" {
		t.Errorf("off:\n%s", got.stdout)
	}
	if got := exec(t.Context(), "policy", "off", "--json"); strings.Count(got.stdout, `"phase"`) != len(retry.Matrix(retry.Off())) {
		t.Errorf("off in JSON isn't the full matrix:\n%s", got.stdout)
	}
}

// TestPolicyWaitsAreTrue compares what is printed with what a Transport does, with
// the least and with the most that is added at random.
func TestPolicyWaitsAreTrue(t *testing.T) {
	for _, name := range retry.Names() {
		p, _ := retry.Named(name)
		for _, jitter := range []float64{0, 1 - 1e-9} {
			p.Jitter = func() float64 { return jitter }
			var want []time.Duration
			for _, d := range waitsOf(p) {
				want = append(want, (d + time.Duration(float64(d)*spreadOf(p)*jitter)).Round(time.Millisecond))
			}
			synctest.Test(t, func(t *testing.T) {
				if got := waits(t, p); !slices.Equal(got, want) {
					t.Errorf("%s with jitter %v waits %v, printed %v", name, jitter, got, want)
				}
			})
		}
	}
}

// waits returns the waits between the attempts of a GET that never succeeds.
func waits(t *testing.T, p retry.Policy) []time.Duration {
	var at []time.Time
	tr := &retry.Transport{Policy: p, Base: roundTripper(func(*http.Request) (*http.Response, error) {
		at = append(at, time.Now())
		return nil, &pool.Error{Phase: pool.PhaseUnsent, Err: errors.New("no")}
	})}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.RoundTrip(req); err == nil {
		t.Fatal("no error")
	}
	var ds []time.Duration
	for i := 1; i < len(at); i++ {
		ds = append(ds, at[i].Sub(at[i-1]).Round(time.Millisecond))
	}
	return ds
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
