package bench

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// lines returns what a report writes.
func lines(t *testing.T, write func(io.Writer) error) []string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// wantCells compares lines by their cells; those that aren't named are not looked at.
func wantCells(t *testing.T, got []string, want map[int]string) {
	t.Helper()
	for i, cells := range want {
		if i >= len(got) || strings.Join(strings.Fields(got[i]), " ") != cells {
			t.Errorf("line %d isn't %q:\n%s", i, cells, strings.Join(got, "\n"))
		}
	}
}

func TestWideTable(t *testing.T) {
	got := lines(t, Report{Results: []Result{
		{Scenario: "steady", Proto: "h1", Client: "a", Requests: 1234567, Avoidable: new(int64(0)), PeakConns: new(int64(7)), P50: new(12.345), RPS: 98765},
		{Scenario: "burst", Proto: "h1s", Client: "b", Failed: 2, NotOK: 3, FirstError: "some error", Unmade: 4},
	}}.WriteWideTable)
	wantCells(t, got, map[int]string{
		2: "steady h1 a 1234567 0 0 - - - - 7 12.3 - - 98765 - 0.0",
		3: "burst h1s b 0 2 - - - - - - - - - 0.0 - 0.0",
		4: "burst h1s b: 4 calls were due and never made: more than it could take",
		5: "burst h1s b: 2 failed, 3 answers not 2xx; first: some error",
	})
	if len(got) != 6 {
		t.Errorf("want a header, a line, two rows and two remarks:\n%s", strings.Join(got, "\n"))
	}
}

// TestWideTableHasColumnsForSome checks that a column which few rows have is there with
// these, and with others in the same table is empty.
func TestWideTableHasColumnsForSome(t *testing.T) {
	got := lines(t, Report{Results: []Result{
		{Scenario: "burst", Proto: "h1", Client: "a", Waves: new(int64(4)), WaveP50: new(1.0), WaveP99: new(250.0), WaveDials: new(int64(30))},
		{Scenario: "burst-warm", Proto: "h1", Client: "a", Dialled: new(int64(5)), PeakRSS: new(int64(3 << 19))},
	}}.WriteWideTable)
	wantCells(t, got, map[int]string{
		2: "burst h1 a 0 0 - - - - - - - - - - 1.0 250 0.0 - 0.0 4 30 -",
		3: "burst-warm h1 a 0 0 - - - - - - 5 - - - - - 0.0 - 0.0 - - 1.5",
	})
	for _, name := range []string{"dialled", "waves", "wave p99", "wave dials", "MiB grown"} {
		if !strings.Contains(got[0], name) {
			t.Errorf("header lacks %s: %s", name, got[0])
		}
	}
}

// TestTable checks that each scenario has a table, with what its rows have to say and once
// what several of them do.
func TestTable(t *testing.T) {
	zero, cpu := new(int64(0)), new(20.5)
	row := Result{
		Scenario: "steady", Proto: "h1", Client: "net/http", Requests: 1234567, Avoidable: zero, ExecutedTwice: zero, Lost: zero,
		Dials: new(int64(1000)), WastedDials: zero, PeakConns: new(int64(7)), P50: new(12.345), P99: new(123456.0), P999: new(1.0), RPS: 98765, CPUPerRequest: cpu,
	}
	half := row
	half.Client, half.CPURatio, half.CPURatioTo = "fasthttp", &Ratio{0.5, 0.46, 0.51}, "net/http"
	tls := row
	tls.Proto, tls.ExecutedTwice, tls.WastedDials, tls.Partial, tls.Samples = "h1s", new(int64(2)), new(int64(188)), true, make([]Sample, 2)
	wave := row
	wave.Scenario, wave.Load, wave.Proxy, wave.Waves, wave.WaveP99 = "burst", "poisson:3", "nginx", new(int64(4)), new(30.0)
	got := lines(t, Report{Results: []Result{half, row, tls, wave}}.WriteTable)
	wantCells(t, got, map[int]string{
		0:  "steady",
		1:  "proto client requests failed avoidable twice dials wasted p50 us p99 us req/s cpu us of net/http allocs",
		3:  "h1 fasthttp 1234567 0 0 0 1000 - 12.3 123456 98765 20.5 0.50 ±0.04 0.0",
		4:  "net/http 1234567 0 0 0 1000 - 12.3 123456 98765 20.5 - 0.0",
		5:  "h1s net/http * 1234567 0 0 2 1000 188 12.3 123456 98765 20.5 - 0.0",
		7:  "burst (poisson:3, behind nginx)",
		8:  "proto client requests failed avoidable dials wave p99 cpu us allocs",
		11: "steady h1s net/http: ended early, the figures are of 2 rounds",
	})
	none := lines(t, Report{Results: []Result{half, row}}.WriteTable)
	if last := none[len(none)-1]; last != "executed twice 0, lost 0: in all rows" || strings.Contains(none[1], "lost") {
		t.Errorf("columns %q, and at the end %q", none[1], last)
	}
	for _, line := range got {
		if n := utf8.RuneCountInString(line); n > 128 {
			t.Errorf("%d columns:\n%s", n, line)
		}
	}
}

// TestRatioHasItsReferencesName checks that "of net/http" isn't said where it's another.
func TestRatioHasItsReferencesName(t *testing.T) {
	sample := func(cpu float64) []Sample { return []Sample{{CPUPerRequest: &cpu}} }
	for _, tt := range []struct{ a, b, want string }{{"x", "net/http", "of net/http"}, {"net/http", "x", "of net/http"}, {"x", "y", "of y"}} {
		rows := []Result{{Client: tt.a, Samples: sample(1)}, {Client: tt.b, Samples: sample(2)}}
		compareCPU(rows)
		if got := ratioName(rows); got != tt.want {
			t.Errorf("%s and %s: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	mixed := []Result{{CPURatio: new(Ratio), CPURatioTo: "a"}, {}, {CPURatio: new(Ratio), CPURatioTo: "b"}}
	if got := ratioName(mixed); got != "of the last" {
		t.Errorf("of two: %q", got)
	}
}
