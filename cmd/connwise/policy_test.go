package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/connwise/retry"
)

func TestPolicyTable(t *testing.T) {
	cell := func(preset, phase, timeout, method string) string {
		t.Helper()
		got := exec(t.Context(), "policy", preset)
		lines := strings.Split(got.stdout, "\n")
		column := slices.Index(strings.Fields(lines[0]), method)
		for _, line := range lines[2:] {
			if f := strings.Fields(line); len(f) > 2 && f[0] == phase && f[1] == timeout {
				return f[column]
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
		{"off", "unsent", "no", "GET", "-"},
	}
	for _, tt := range tests {
		if got := cell(tt.preset, tt.phase, tt.timeout, tt.method); got != tt.want {
			t.Errorf("%s: %s %s after phase %s: %q, want %q", tt.preset, tt.method, tt.timeout, tt.phase, got, tt.want)
		}
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
