package sidecar

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestFlagsGoBeforeTheFile also checks that a preset comes before what changes it, wherever it stands.
func TestFlagsGoBeforeTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxy.yml")
	settingsFile(t, file, "upstream: http://a\nretry:\n  spread: 0.25\n  max_retries: 7\n  policy: once\n")
	s, err := Load(Source{File: file, Flags: []Flag{{"retry.max_retries", "9"}, {"pool.max_wait", "3s"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Policy
	if p.MaxRetries != 9 || p.Spread != 0.25 || p.Timeouts != retry.TimeoutsAlways || p.MaxUnsent != 9 || s.Pool.MaxWait != 3*time.Second {
		t.Errorf("policy %+v, wait %v", p, s.Pool.MaxWait)
	}
	_, err = Load(Source{File: file, Flags: []Flag{{"upstream", ""}, {"pool.max_wait", "3"}}})
	if want := "--pool-max-wait: 3 has no unit; write 3s, 3ms or 3m"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestPrintedSettingsCanBeRead checks that a printed file means the same: with the defaults, and with every
// setting changed.
func TestPrintedSettingsCanBeRead(t *testing.T) {
	texts := map[string]string{
		"duration": "1h2m3s", "number": "7", "share": "0.7", "size": "7KiB", "bool": "true", "mode": "0640",
		"upstream": "https://a.example/x", "listen": "unix:/a:b #c", "admin": "localhost:0", "log.format": "json", "log.level": "warn",
		"forward.host": "api.example", "forward.x_forwarded": "keep", "forward.via": "none", "tls.min_version": "1.3",
		"pool.protocols": "http2", "pool.idle_margin": "1m", "pool.min_idle": "3", "dial.proxy": "socks5://me:secret@p:1080",
		"dial.local_addr": "::1", "retry.policy": "once", "retry.methods": "GET, PUT", "retry.repeatable": "none",
		"retry.timeouts": "never", "retry.next_conn": "any", "retry.statuses": "429, 503", "tls.server_name": "true",
		"retry.stages.resolve": "never", "retry.stages.connect": "not-timeouts", "retry.stages.proxy": "never", "retry.stages.tls": "not-timeouts",
	}
	var changed []Flag
	for _, s := range Defaults().Table() {
		text, ok := texts[s.Key]
		if !ok {
			text, ok = texts[s.Value.Type()]
		}
		if !ok && !strings.HasSuffix(s.Key, "_file") {
			t.Errorf("%s: which value is to be tried?", s.Key)
		}
		if ok {
			changed = append(changed, Flag{s.Key, text})
		}
	}
	for _, flags := range [][]Flag{{{"upstream", "http://a"}}, changed} {
		s, err := Load(Source{Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "proxy.yml")
		settingsFile(t, file, strings.Replace(s.YAML(), "xxxxx", "secret", 1))
		again, err := Load(Source{File: file})
		if err != nil {
			t.Fatal(err)
		}
		if again.YAML() != s.YAML() {
			t.Errorf("printed:\n%s\nread again:\n%s", s.YAML(), again.YAML())
		}
		if !reflect.DeepEqual(again.Policy, s.Policy) || !reflect.DeepEqual(again.Dialer, s.Dialer) {
			t.Errorf("read again: %+v\n%+v\nwant %+v\n%+v", again.Policy, again.Dialer, s.Policy, s.Dialer)
		}
		if strings.Contains(s.YAML(), "secret") {
			t.Error("the password of a proxy was printed")
		}
	}
}

// TestEverySettingOfTheLibraries checks that each field that a user could want is a setting, and that what
// is left out was left out on purpose.
func TestEverySettingOfTheLibraries(t *testing.T) {
	leftOut := map[string]string{
		"Config.Hosts": "there is one host", "Config.Base": "see its fields", "Config.Dialer": "see its fields", "Config.BeforeSend": "a function",
		"Config.Jitter": "a function", "Config.Trace": "the log has what matters", "Policy.Backoff": "a function", "Policy.Jitter": "a function",
		"Dialer.Resolver": "dial.cache_ttl", "Dialer.Memory": "always on", "Dialer.Control": "a function", "Dialer.ControlContext": "a function",
	}
	known := make(map[string]bool)
	keys := make(map[string]bool)
	for _, s := range Defaults().Table() {
		known[s.Field] = true
		if keys[s.Key] || s.Doc == "" {
			t.Errorf("%s is there twice, or has no meaning", s.Key)
		}
		keys[s.Key] = true
	}
	for prefix, v := range map[string]any{"Config": pool.Config{}, "Dialer": &dialer.Dialer{}, "Policy": retry.Policy{}, "Budget": &retry.Budget{}} {
		typ := reflect.TypeOf(v)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := prefix + "." + f.Name
			if f.IsExported() && known[name] == (leftOut[name] != "") {
				t.Errorf("%s: is it a setting, or left out? One of both", name)
			}
		}
	}
}

// TestFilledPolicies checks that what is printed of a preset is what it does.
func TestFilledPolicies(t *testing.T) {
	for _, name := range retry.Names() {
		p, _ := retry.Named(name)
		filled, _ := retry.Named(name)
		fillPolicy(&filled)
		if !slices.Equal(retry.Matrix(p), retry.Matrix(filled)) {
			t.Errorf("%s: the matrix differs", name)
		}
		for _, attempt := range []time.Duration{0, time.Second} {
			if a, b := p.WorstCase(attempt), filled.WorstCase(attempt); a != b {
				t.Errorf("%s: the longest call takes %v, and %v with the defaults filled in", name, a, b)
			}
		}
		for _, o := range []retry.Outcome{{Phase: pool.PhaseRefused}, {Phase: pool.PhaseUnsent}, {Phase: pool.PhaseSent}, {Phase: pool.PhaseSent, Timeout: true}} {
			for before := range 5 {
				o.Method, o.Retry, o.BodyReplayable = http.MethodGet, before, true
				if a, b := p.Decide(o), filled.Decide(o); a.Retry != b.Retry || a.Reason != b.Reason {
					t.Errorf("%s: %+v: %+v, and %+v with the defaults filled in", name, o, a, b)
				}
			}
		}
	}
}

// TestSettingsReachTheLibraries looks at what pool.New gets.
func TestSettingsReachTheLibraries(t *testing.T) {
	load := func(flags ...Flag) *Settings {
		t.Helper()
		s, err := Load(Source{Flags: append(flags, Flag{"upstream", "https://a"})})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load(Flag{"dial.keep_alive.idle", "5s"}, Flag{"dial.keep_alive.count", "2"}, Flag{"dial.cache_ttl", "3s"},
		Flag{"dial.connect_timeout", "none"}, Flag{"tls.min_version", "1.3"}, Flag{"tls.server_name", "b"}, Flag{"dial.proxy", "http://me:pw@p:1"})
	cfg := s.poolConfig()
	if k := cfg.Dialer.KeepAlive; !k.Enable || k.Idle != 5*time.Second || k.Count != 2 {
		t.Errorf("keep-alive %+v", k)
	}
	if cfg.Dialer.Resolver.(*dialer.CachingResolver).TTL != 3*time.Second || cfg.Dialer.ConnectTimeout >= 0 {
		t.Errorf("dialer %+v", cfg.Dialer)
	}
	if c := cfg.Base.TLSClientConfig; c.MinVersion != tls.VersionTLS13 || c.ServerName != "b" || c.InsecureSkipVerify {
		t.Errorf("TLS from %x for %q", c.MinVersion, c.ServerName)
	}
	u, err := cfg.Base.Proxy(new(http.Request))
	if err != nil || fmt.Sprint(u) != "http://me:pw@p:1" {
		t.Errorf("proxy %v, %v", u, err)
	}
	if k := load(Flag{"dial.keep_alive.idle", "none"}).Dialer.KeepAlive; k.Enable || k.Idle >= 0 {
		t.Errorf("no keep-alive is %+v", k)
	}
}
