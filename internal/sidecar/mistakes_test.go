package sidecar

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

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
