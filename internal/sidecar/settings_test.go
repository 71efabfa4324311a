package sidecar

import (
	"crypto/tls"
	"errors"
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

// TestMistakesInFiles names each by its line.
func TestMistakesInFiles(t *testing.T) {
	const up = "upstream: http://a.example\n"
	for _, tt := range []struct {
		file string
		want []string // lines of the error; "FILE" is the file's name
	}{
		{"", []string{"upstream: is missing; write http://HOST:PORT, https://HOST, or unix:/PATH"}},
		{"# nothing\n", []string{"upstream: is missing; write http://HOST:PORT, https://HOST, or unix:/PATH"}},
		{up + "a: [\n", []string{"FILE:2: did not find expected node content"}},
		{up + "\tlisten: x\n", []string{"FILE:2: found a tab character that violates indentation"}},
		{"just text\n", []string{"FILE:1: is not a mapping of settings, as in upstream: https://api.example"}},
		{up + "---\n" + up, []string{"FILE:1: has more than one document, or rubbish behind the first"}},
		{up + "upstream: http://b\n", []string{"FILE:2: upstream: is there a second time; the first is in line 1"}},
		{up + "pool:\n  max_con: 3\n  max_wait: 5\n\nretry:\n  spread: x\n", []string{
			"FILE:3: pool.max_con: is no setting; did you mean pool.max_conns?",
			"FILE:4: pool.max_wait: 5 has no unit; write 5s, 5ms or 5m",
			`FILE:7: retry.spread: "x" is no share, as 0.1 is for 10 %, or none`}},
		{up + "zzzzzzzzz: 1\n", []string{"FILE:2: zzzzzzzzz: is no setting; connwise proxy --print-config lists all"}},
		{up + "pool: 5\n", []string{"FILE:2: pool: has settings below it, and no value of its own"}},
		{up + "drain: {a: 1}\n", []string{"FILE:2: drain: has a value of several parts; give one value, or a list of them"}},
		{up + "drain:\n", []string{"FILE:2: drain: has no value; leave the line out, or write none"}},
		{up + "drain: none\n", []string{`FILE:2: drain: "none" is no duration; write one like 500ms, 60s or 2m`}},
		{up + "drain: -5s\n", []string{"FILE:2: drain: -5s must be more than 0"}},
		{up + "drain: &a 5s\n", []string{"FILE:2: drain: anchors and aliases aren't taken; write the value out"}},
		{up + "log:\n  requests: yes\n", []string{`FILE:3: log.requests: "yes" is neither true nor false`}},
		{up + "log:\n  format: xml\n", []string{`FILE:3: log.format: "xml" is none of text, json`}},
		{up + "replay:\n  body: 65536\n", []string{"FILE:3: replay.body: 65536 has no unit; write 65536B, 65536KiB or 65536MiB"}},
		{up + "replay:\n  body: 1KB\n", []string{`FILE:3: replay.body: "1KB" is no size; write one like 512B, 64KiB or 8MiB, or none`}},
		{up + "replay:\n  body: 99999999999GiB\n", []string{"FILE:3: replay.body: 99999999999GiB is no size that could be"}},
		{up + "socket_mode: 0o999\n", []string{`FILE:2: socket_mode: "0o999" is no mode in octal digits, as 0660 is`}},
		{up + "pool:\n  max_conns: -1\n", []string{`FILE:3: pool.max_conns: "-1" is no number of 1 or more, or none`}},
		{up + "retry:\n  policy: twice\n", []string{`FILE:3: retry.policy: "twice" is none of ` + strings.Join(retry.Names(), ", ")}},
		{up + "retry:\n  methods: [get]\n", []string{`FILE:3: retry.methods: "get" is no method; "GET" is (methods are case-sensitive)`}},
		{up + "retry:\n  statuses: [429, many]\n", []string{`FILE:3: retry.statuses: "many" is no status, as 429 is`}},
		{up + "retry:\n  statuses: 99\n", []string{"FILE:3: retry.statuses: 99 is no final status of an answer, 200 to 599"}},
		{up + "budget:\n  part: 2\n", []string{"FILE:3: budget.part: is 2, not within 0 and 1; zero is the default"}},
		{up + "pool:\n  proxy_idle_timeout: 60s\n  idle_margin: 61s\n", []string{
			"FILE:4: pool.idle_margin: is 1m1s, not less than ProxyIdleTimeout (1m0s): no connection could be reused"}},
		{up + "pool:\n  min_idle: 5\n  max_conns: 4\n", []string{
			"FILE:3: pool.min_idle: is 5, but MaxConnsPerHost is 4: so many can't be kept; set it to 4 or less"}},
		{up + "pool:\n  protocols: http2\n", []string{"FILE:3: pool.protocols: http2 is spoken over TLS; with an http upstream h2c is meant"}},
		{"upstream: https://a\npool:\n  protocols: h2c\n", []string{"FILE:3: pool.protocols: h2c is HTTP/2 without TLS; with an https upstream http2 is meant"}},
		{up + "listen: 0.0.0.0:8080\n", []string{"FILE:2: listen: 0.0.0.0:8080 can be reached from other machines, and there is no authentication; " +
			"write 127.0.0.1:8080, or allow it with listen_anywhere (--listen-anywhere)"}},
		{up + "admin: :9090\n", []string{"FILE:2: admin: :9090 can be reached from other machines, and there is no authentication; " +
			"write 127.0.0.1:9090, or allow it with listen_anywhere (--listen-anywhere)"}},
		{up + "listen: 8080\n", []string{`FILE:2: listen: "8080" is no address; write 127.0.0.1:PORT, or unix:/PATH`}},
		{up + "listen: unix:run\n", []string{`FILE:2: listen: "run" is no absolute path of a socket, of 103 bytes at most`}},
		{up + "admin: 127.0.0.1:8080\n", []string{"FILE:2: admin: 127.0.0.1:8080 is where clients connect; give it an address of its own"}},
		{"upstream: http://127.0.0.1:8080\n", []string{"FILE:1: upstream: 127.0.0.1:8080 is where the sidecar itself listens"}},
		{"upstream: http://me:secret@a\n", []string{"FILE:1: upstream: has credentials in it, which aren't sent; have the client send Authorization"}},
		{"upstream: ftp://me@a\n", []string{"FILE:1: upstream: has credentials in it, which aren't sent; have the client send Authorization"}},
		{"upstream: a.example:80\n", []string{`FILE:1: upstream: "a.example:80" is no URL of http or https; write http://HOST:PORT, https://HOST, or unix:/PATH`}},
		{"upstream: http://a?b\n", []string{"FILE:1: upstream: has a query or a fragment; the client's goes in its place"}},
		{"upstream: http://a:0\n", []string{`FILE:1: upstream: "a:0" has no valid port, 1 to 65535`}},
		{"upstream: unix:a\n", []string{`FILE:1: upstream: "a" is no absolute path of a socket; write http://HOST:PORT, https://HOST, or unix:/PATH`}},
		{up + "forward:\n  host: a b\n  via: a b\n", []string{`FILE:3: forward.host: "a b" is neither upstream, client, nor a name`}},
		{up + "forward:\n  via: a b\n", []string{`FILE:3: forward.via: "a b" is no name of letters, digits, - and the like`}},
		{up + "dial:\n  proxy: ftp://x\n", []string{"FILE:3: dial.proxy: is no proxy that is spoken to here; http, https, socks5 and socks5h are"}},
		{up + "dial:\n  local_addr: eth0\n", []string{`FILE:3: dial.local_addr: "eth0" is no IP address`}},
		{up + "dial:\n  cache_stale: 5s\n", []string{"FILE:3: dial.cache_stale: needs dial.cache_ttl"}},
		{up + "dial:\n  keep_alive:\n    count: 3\n", []string{"FILE:4: dial.keep_alive.count: needs a number, and a time for dial.keep_alive.idle"}},
		{up + "tls:\n  cert_file: a.pem\n", []string{"FILE:3: tls.cert_file: and tls.key_file need each other"}},
		{up + "tls:\n  ca_file: /nowhere/ca.pem\n", []string{"FILE:3: tls.ca_file: open /nowhere/ca.pem: no such file or directory"}},
		{up + "tls:\n  ca_file: FILE\n", []string{"FILE:3: tls.ca_file: has no certificate in PEM form"}},
	} {
		file := filepath.Join(t.TempDir(), "proxy.yml")
		settingsFile(t, file, strings.ReplaceAll(tt.file, "FILE", file))
		_, err := Load(Source{File: file})
		if err == nil {
			t.Errorf("no error for\n%s", tt.file)
			continue
		}
		if got, want := err.Error(), strings.ReplaceAll(strings.Join(tt.want, "\n"), "FILE", file); got != want {
			t.Errorf("for\n%sgot\n%s\nwant\n%s", tt.file, got, want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("an error has a password: %v", err)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	settingsFile(t, large, strings.Repeat("#", maxFile+1))
	for _, file := range []string{dir, filepath.Join(dir, "none"), large} {
		_, err := Load(Source{File: file})
		if _, ok := errors.AsType[SettingErrors](err); !ok || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

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

func FuzzFile(f *testing.F) {
	f.Add("upstream: http://a\npool:\n  max_conns: 3\n")
	f.Add("a: &b [*b]\n")
	f.Add("{upstream: [a, b]}")
	f.Fuzz(func(t *testing.T, text string) {
		all, errs := parse("f", text)
		for _, e := range errs {
			if e.Where == "" || e.Reason == "" {
				t.Errorf("an error without a place or reason: %+v", e)
			}
		}
		known := keys()
		for _, a := range all {
			if !known[a.key] {
				t.Errorf("%q was taken for a setting", a.key)
			}
		}
	})
}
