package bench

import (
	"strings"
	"testing"
)

// lines returns the lines of a report's table, the cells of a row as one of fields.
func lines(t *testing.T, rep Report) []string {
	t.Helper()
	var b strings.Builder
	if err := rep.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

func TestTable(t *testing.T) {
	got := lines(t, Report{Results: []Result{
		{Scenario: "steady", Proto: "h1", Client: "a", Requests: 1234567, Avoidable: new(int64(0)), PeakConns: new(int64(7)), P50: new(12.345), RPS: 98765},
		{Scenario: "burst", Proto: "h1s", Client: "b", Failed: 2, NotOK: 3, FirstError: "some error"},
	}})
	if len(got) != 5 {
		t.Fatalf("want a header, a line, two rows and an error:\n%s", strings.Join(got, "\n"))
	}
	if want := "steady h1 a 1234567 0 0 - - - - 7 12.3 - - 98765 - 0.0"; strings.Join(strings.Fields(got[2]), " ") != want {
		t.Errorf("row %q, want %q", got[2], want)
	}
	if want := "burst h1s b: 2 failed, 3 answers not 2xx; first: some error"; got[4] != want {
		t.Errorf("error line %q, want %q", got[4], want)
	}
}

// TestTableHasColumnsForSome checks that a column which few rows have is there with
// these, and with others in the same table is empty.
func TestTableHasColumnsForSome(t *testing.T) {
	got := lines(t, Report{Results: []Result{
		{Scenario: "burst", Proto: "h1", Client: "a", Waves: new(int64(4)), WaveP50: new(1.0), WaveP99: new(250.0), WaveDials: new(int64(30))},
		{Scenario: "burst-warm", Proto: "h1", Client: "a", Dialled: new(int64(5))},
	}})
	for i, want := range map[int]string{
		2: "burst h1 a 0 0 - - - - - - - - - - 0.0 - 0.0 4 1.0 250 30",
		3: "burst-warm h1 a 0 0 - - - - - - 5 - - - 0.0 - 0.0 - - - -",
	} {
		if strings.Join(strings.Fields(got[i]), " ") != want {
			t.Errorf("row %q, want %q", got[i], want)
		}
	}
	for _, name := range []string{"dialled", "waves", "wave p99", "wave dials"} {
		if !strings.Contains(got[0], name) {
			t.Errorf("header lacks %s: %s", name, got[0])
		}
	}
}
