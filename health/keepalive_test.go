package health

import (
	"strings"
	"testing"
	"time"
)

func TestParseKeepAlive(t *testing.T) {
	tests := []struct {
		v    string
		want time.Duration // zero: not ok
	}{
		{"timeout=5", 5 * time.Second},
		{"timeout=5, max=100", 5 * time.Second},
		{"max=100, timeout=5", 5 * time.Second},
		{"max=100,timeout=5", 5 * time.Second},
		{"  Timeout = 5 ", 5 * time.Second},
		{`TIMEOUT="5", max="100"`, 5 * time.Second},
		{`timeout=" 5 "`, 5 * time.Second},
		{"timeout=5, timeout=3", 3 * time.Second}, // of two lines, say
		{"timeout=3, timeout=5", 3 * time.Second},
		{"timeout=0060", 60 * time.Second},
		{"timeout=86400", 24 * time.Hour},
		{", ,timeout=5,", 5 * time.Second},

		{"", 0},
		{"max=100", 0},
		{"timeout", 0},
		{"timeout=", 0},
		{`timeout=""`, 0},
		{`timeout="5`, 0},
		{"timeout=0", 0},
		{"timeout=-1", 0},
		{"timeout=+5", 0},
		{"timeout=5.5", 0},
		{"timeout=5s", 0},
		{"timeout=0x10", 0},
		{"timeout=1_0", 0},
		{"timeout=1e3", 0},
		{"timeout=86401", 0},
		{"timeout=1000000000000", 0},
		{"timeout=99999999999999999999999999", 0},
		{"timeout=soon", 0},
		{"timeout=5, timeout=soon", 0},
		{"xtimeout=5", 0},
		{"timeout=５", 0}, // a wide digit
	}
	for _, tt := range tests {
		got, ok := ParseKeepAlive(tt.v)
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("ParseKeepAlive(%q) = %v, %v; want %v", tt.v, got, ok, tt.want)
		}
	}
}

func FuzzParseKeepAlive(f *testing.F) {
	for _, s := range []string{"timeout=5, max=100", `timeout="5"`, "timeout=-1", "=,=,timeout", "timeout=99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		d, ok := ParseKeepAlive(v)
		if ok && (d < time.Second || d > 24*time.Hour || d%time.Second != 0) {
			t.Errorf("%q: %v is no idle time to believe", v, d)
		}
		if !ok && d != 0 {
			t.Errorf("%q: %v, and not ok", v, d)
		}
		if ok && !strings.Contains(strings.ToLower(v), "timeout") {
			t.Errorf("%q: %v from nothing", v, d)
		}
		if again, ok2 := ParseKeepAlive("max=1, " + v); again != d || ok2 != ok {
			t.Errorf("%q: %v, %v, and behind another parameter %v, %v", v, d, ok, again, ok2)
		}
	})
}
