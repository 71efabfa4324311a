package benchcli

import (
	"strings"
	"testing"

	"example.com/connwise/bench"
)

// TestCommandLine checks that what a report shows runs the same again, and has no secret in it.
func TestCommandLine(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"nothing", "", "bench"},
		{"the order given", "--workers 4 --json --duration 2000ms --all", "bench --workers 4 --json --duration 2s --all"},
		{"lists", "--scenario steady --scenario burst,goaway --proto h2", "bench --scenario steady,burst,goaway --proto h2"},
		{"no", "--json=false", "bench --json=false"},
		{"a path with a space", "--html=my~report", "bench --html 'my report'"},
		{"a quote", "--out=it's", `bench --out 'it'\''s'`},
		{"user and password", "--target http://me:secret@host:80/a?b#c", "bench --target 'http://xxxxx@host:80/a?xxxxx#xxxxx'"},
		{"a token as user", "--target https://secret@host/", "bench --target https://xxxxx@host/"},
		{"a query", "--target http://host/?token=secret&x=secret;y=secret&secret&", "bench --target 'http://host/?token=xxxxx&x=xxxxx&xxxxx&'"},
		{"a URL that is none", "--target http://me:secret@host:port:%zz/", "bench --target ..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := New(bench.DefaultClients()...)
			var args []string
			for arg := range strings.FieldsSeq(tt.args) {
				args = append(args, strings.ReplaceAll(arg, "~", " "))
			}
			if err := cmd.ParseFlags(args); err != nil {
				t.Fatal(err)
			}
			got := commandLine(cmd)
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if strings.Contains(got, "secret") {
				t.Errorf("a secret shows: %s", got)
			}
		})
	}
}
