package bench

import (
	"encoding/json"
	"io"
)

// A Report has one Result for each scenario, protocol and client that was run to
// its end.
type Report struct {
	Results []Result `json:"results"`
}

// A Result is one row. Fields that come from the peer's record are nil (null in
// JSON) with Options.Target, as nobody counted there.
type Result struct {
	Scenario string `json:"scenario"`
	Proto    string `json:"proto"`
	Client   string `json:"client"`

	Requests int64 `json:"requests"` // calls made
	Failed   int64 `json:"failed"`   // calls that returned an error
	// Avoidable counts failed calls that the peer never executed.
	Avoidable *int64 `json:"avoidable"`
	// ExecutedTwice counts calls that the peer executed more than once. Calls with a
	// safe method (here GET) are not counted: they may be repeated, RFC 9110, 9.2.1.
	ExecutedTwice *int64 `json:"executed_twice"`
	// Lost counts calls that were answered with 2xx and never executed.
	Lost *int64 `json:"lost"`
	// Dials counts the connections that the peer accepted, and PeakConns is the most that
	// were open at one time.
	Dials     *int64 `json:"dials"`
	PeakConns *int64 `json:"peak_conns"`
	// Dialled counts the calls that got a connection which was opened for a call, and not
	// one that was ready (httptrace's GotConnInfo.Reused); nil in all scenarios but
	// burst-warm.
	Dialled *int64 `json:"dialled"`

	// Latencies of the calls that got a 2xx answer, in microseconds; nil if none did. With
	// waves they are of all waves taken together.
	P50  *float64 `json:"p50_us"`
	P99  *float64 `json:"p99_us"`
	P999 *float64 `json:"p999_us"`

	// Waves counts the full waves of burst. The others are medians over these: of a wave's
	// 50th and 99th percentile in microseconds, and of the connections that the peer accepted
	// from it. Nil in other scenarios.
	Waves     *int64   `json:"waves"`
	WaveP50   *float64 `json:"wave_p50_us"`
	WaveP99   *float64 `json:"wave_p99_us"`
	WaveDials *int64   `json:"wave_dials"`

	// RPS is how many calls were made in a second, the time between waves left out.
	RPS float64 `json:"rps"`
	// CPUPerRequest is this process's CPU time, user and system, in microseconds; nil
	// where the system doesn't tell.
	CPUPerRequest    *float64 `json:"cpu_us_per_request"`
	AllocsPerRequest float64  `json:"allocs_per_request"`

	// NotOK counts answers that weren't 2xx, and FirstError is the first of the row's
	// errors and such answers. Both are for people.
	NotOK      int64  `json:"-"`
	FirstError string `json:"-"`
}

// Succeeded counts the calls that got a 2xx answer.
func (r Result) Succeeded() int64 { return r.Requests - r.Failed - r.NotOK }

// WriteJSON writes the report as JSON, indented, with a final newline.
func (r Report) WriteJSON(w io.Writer) error {
	if r.Results == nil {
		r.Results = []Result{} // an empty list, not null
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
