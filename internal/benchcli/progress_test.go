package benchcli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/bench"
)

// TestProgressIsALineForEachRow checks what is shown where stderr is no terminal.
func TestProgressIsALineForEachRow(t *testing.T) {
	steps := []bench.Step{
		{Done: 0, Total: 8, Scenario: "steady", Proto: "h1", Client: "a"},
		{Done: 1, Total: 8, Scenario: "steady", Proto: "h1", Client: "b"},
		{Done: 2, Total: 8, Scenario: "hosts", Proto: "h1", Size: 100, Client: "a"},
		{Done: 4, Total: 8, Scenario: "hosts", Proto: "h1", Size: 10000, Client: "a"},
	}
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		show, done := newProgress(&b, false)
		for _, s := range steps {
			show(s)
			time.Sleep(5 * time.Second)
		}
		done()
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		want := "0s 0% steady h1|10s 25% hosts h1 100 about 30s left|15s 50% hosts h1 10000 about 15s left"
		if strings.Join(got, "|") != want {
			t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
		}
	})
}

func TestQuietProgress(t *testing.T) {
	var b strings.Builder
	show, done := newProgress(&b, true)
	show(bench.Step{Total: 3})
	done()
	if b.Len() > 0 {
		t.Errorf("it says %q", b.String())
	}
}
