package benchcli

import (
	"errors"
	"strings"
	"testing"

	"example.com/connwise/bench"
)

func TestStrict(t *testing.T) {
	row := func(client string, requests, avoidable int64) bench.Result {
		return bench.Result{Scenario: "silent", Proto: "h1", Client: client, Requests: requests, Avoidable: &avoidable}
	}
	o := bench.Options{Requests: 100}
	for _, tt := range []struct {
		rows   []bench.Result
		strict string
		want   string // in the error; empty: none
	}{
		{[]bench.Result{row("connwise", 100, 0), row("net/http", 100, 7)}, "connwise", ""},
		{[]bench.Result{row("connwise", 100, 0), row("net/http", 100, 7)}, "connwise,floor", "floor has no row"},
		{[]bench.Result{row("connwise", 100, 0), row("net/http", 100, 7)}, "connwise,net/http", "silent h1 net/http: 7 failed avoidably"},
		{[]bench.Result{row("connwise", 100, 1), row("net/http", 100, 7)}, "connwise", "silent h1 connwise: 1 failed avoidably"},
		{[]bench.Result{row("connwise", 99, 0)}, "connwise", "silent h1 connwise: 99 requests of 100"},
	} {
		if err := held(bench.Report{Results: tt.rows}, o, nil); err != nil {
			t.Errorf("not strict: %v", err)
		}
		err := held(bench.Report{Results: tt.rows}, o, strings.Split(tt.strict, ","))
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != "bench: strict: "+tt.want {
			t.Errorf("strict %s: %v, want %q", tt.strict, err, tt.want)
		}
	}
}

func TestStrictIsForClientsOfTheRun(t *testing.T) {
	o := bench.Options{Clients: []bench.Client{{Name: "a"}}}
	if err := checkStrict(o, []string{"a"}); err != nil {
		t.Error(err)
	}
	if err := checkStrict(o, []string{"a", "b"}); !isUsage(err, "b") {
		t.Errorf("a client that isn't there: %v", err)
	}
	o.Target = "http://127.0.0.1:1"
	if err := checkStrict(o, []string{"a"}); !isUsage(err, "a") {
		t.Errorf("a target: %v", err)
	}
}

func isUsage(err error, value string) bool {
	e, ok := errors.AsType[*bench.UsageError](err)
	return ok && e.Option == "strict" && e.Value == value
}
