package probe

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOptionsThatMakeNoSense(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for _, tt := range []struct {
		o    Options
		want string // of the error; empty: none
	}{
		{Options{URL: url}, ""},
		{Options{URL: "https://h/", Protos: []string{H2, H1S, H2}}, ""},
		{Options{URL: url, Method: "OPTIONS", Requests: -1, Spread: -1}, ""},
		{Options{}, "give a URL like"},
		{Options{URL: "localhost:80"}, "give a URL like"},
		{Options{URL: "ftp://me:secret@h/"}, "ftp://me:xxxxx@h/: give a URL like"},
		{Options{URL: "http://me:secret@h:x/"}, "that is no URL"},
		{Options{URL: "http:///path"}, "give a URL like"},
		{Options{URL: url, Method: "POST"}, `method "POST": must be GET, HEAD or OPTIONS`},
		{Options{URL: url, Protos: []string{H2}}, `protocol "h2": with http it must be h1 or h2c`},
		{Options{URL: "https://h/", Protos: []string{H1}}, `protocol "h1": with https it must be h1s or h2`},
		{Options{URL: url, Protos: []string{""}}, `protocol ""`},
		{Options{URL: url, Conns: 33}, "33 connections: must be 1 to 32"},
		{Options{URL: url, Conns: -1}, "-1 connections"},
		{Options{URL: url, Max: -1}, "max -1ns"},
		{Options{URL: url, Max: 25 * time.Hour}, "max 25h0m0s"},
		{Options{URL: url, Requests: 100_001}, "100001 requests"},
		{Options{URL: url, Timeout: -1}, "timeout -1ns"},
		{Options{URL: url, Header: http.Header{"a b": {"secret"}}}, `header field "a b"`},
		{Options{URL: url, Header: http.Header{"A": {"secret\n"}}}, "header field A: its value"},
		{Options{URL: url, Header: http.Header{"connection": {"secret"}}}, "header field connection: the probe sets it"},
		{Options{URL: url, Header: http.Header{"A": {strings.Repeat("x", 9000)}}}, "header fields of 9001 bytes"},
	} {
		p, err := New(tt.o)
		if tt.want == "" {
			if err != nil || p == nil {
				t.Errorf("%+v: %v", tt.o, err)
			}
			continue
		}
		if _, usage := errors.AsType[*UsageError](err); !usage || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: error %v, want a UsageError with %q", tt.o, err, tt.want)
		}
	}
}

func TestPlanOfDefaults(t *testing.T) {
	p, err := New(Options{URL: "https://me:secret@h/"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `probing https://me:xxxxx@h/ by GET, over h1s and h2 (if offered); at most 18 connections and 2212 requests in all, for about 5m11s at most
  of each protocol: 6 connections with one request each, then idle; 2 without any request;
  one with up to 1100 requests, one at a time, at most 100 a second, until the server ends it
`
	if got := p.Plan().String(); got != want {
		t.Errorf("plan\n%s\nwant\n%s", got, want)
	}
}

func TestParseHeader(t *testing.T) {
	for _, tt := range []struct{ in, name, value string }{
		{"A: b", "A", "b"}, {" x-y :  b: c ", "x-y", "b: c"}, {"A:", "A", ""},
		{"A", "", ""}, {": secret", "", ""}, {"a b: secret", "", ""}, {"", "", ""},
	} {
		name, value, err := ParseHeader(tt.in)
		if name != tt.name || value != tt.value || (err == nil) != (tt.name != "") {
			t.Errorf("%q: %q, %q, %v", tt.in, name, value, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the value: %v", tt.in, err)
		}
	}
}
