package bench

import (
	"encoding/json"
	"io"
	"time"
)

// A Report has one Result for each scenario, protocol and client that was run to
// its end.
type Report struct {
	// Command is how the run was called, where its caller says so, and Started when.
	Command string    `json:"command,omitempty"`
	Started time.Time `json:"started"`
	// Seed is what the times of a poisson load came from (Options.Seed).
	Seed uint64 `json:"seed,omitempty"`
	// Machine says where it ran, and Clients how they were configured.
	Machine Machine      `json:"machine"`
	Clients []ClientNote `json:"clients"`
	// Proxies says which they were and how they were configured, and Skipped what couldn't
	// be run behind them.
	Proxies []ProxyNote `json:"proxies,omitempty"`
	Skipped []Skip      `json:"skipped,omitempty"`

	Results []Result `json:"results"`
}

// A ClientNote is a Client's name and note.
type ClientNote struct {
	Name string `json:"name"`
	Note string `json:"note"`
	// Version is that of the module which the client is from, as "path version"; empty where it
	// is Machine's Go or Version.
	Version string `json:"version,omitempty"`
	// Absent says of which protocols, scenarios and rows the client can't be part; empty: it
	// has all rows.
	Absent string `json:"absent,omitempty"`
}

// A ProxyNote is a Proxy's name and note.
type ProxyNote struct {
	Name string `json:"name"`
	Note string `json:"note"`
}

// A Result is one row. Fields that come from the peer's record are nil (null in
// JSON) with Options.Target, as nobody counted there.
type Result struct {
	Scenario string `json:"scenario"`
	Proto    string `json:"proto"`
	Client   string `json:"client"`
	// Size is the number of idle connections in idle-conns and of hosts in hosts; nil
	// elsewhere.
	Size *int64 `json:"size,omitempty"`
	// Load is how the requests came, where it wasn't the scenario's own way (Options.Load).
	Load string `json:"load,omitempty"`
	// Proxy is what stood between the clients and the peer; empty: nothing. Behind one, Dials
	// are those of the client, as far as it dials with Setup.Transport's DialContext, and
	// WastedDials and PeakConns are nil, as the peer sees the proxy's connections alone.
	Proxy string `json:"proxy,omitempty"`

	Requests int64 `json:"requests"` // calls made, those that warmed connections up included
	Failed   int64 `json:"failed"`   // calls that returned an error
	// Unmade counts the calls that were due by an open load and never made, as more were due
	// than client, server and machine could take in the round and 10 s after it. They aren't
	// among Requests, and the latencies are too good by what these would have waited.
	Unmade int64 `json:"unmade,omitempty"`
	// Avoidable counts failed calls that the peer never executed.
	Avoidable *int64 `json:"avoidable"`
	// ExecutedTwice counts calls that the peer executed more than once. Calls with a
	// safe method (here GET) are not counted: they may be repeated, RFC 9110, 9.2.1.
	ExecutedTwice *int64 `json:"executed_twice"`
	// Lost counts calls that were answered with 2xx and never executed.
	Lost *int64 `json:"lost"`
	// Violations counts what the peer has seen of the client against RFC 9113, up to 64 in a
	// round. Over HTTP/1.1 it doesn't look.
	Violations int64 `json:"violations,omitempty"`
	// Dials counts the connections that the peer accepted, WastedDials those of them that
	// never carried a request which was executed, and PeakConns is the most that were open
	// at one time.
	Dials       *int64 `json:"dials"`
	WastedDials *int64 `json:"wasted_dials"`
	PeakConns   *int64 `json:"peak_conns"`
	// Dialled counts the calls that got a connection which was opened for a call, and not
	// one that was ready (httptrace's GotConnInfo.Reused); nil in all scenarios but
	// burst-warm and burst-limit, and of a Client that is Native.
	Dialled *int64 `json:"dialled"`

	// Cancelled counts the calls that cancel ended before their answer was read; they are
	// neither failed nor lost, and may have been executed. LeftOpen counts the connections
	// that were open when all of its calls had ended and the client had closed the idle
	// ones. Nil in other scenarios.
	Cancelled *int64 `json:"cancelled,omitempty"`
	LeftOpen  *int64 `json:"left_open,omitempty"`
	// Overtaken counts the calls of queue that were answered after one which had come later
	// by the time of an answer or more. WaitP50 and WaitP99 are of their latencies without
	// that time, in microseconds. Nil in other scenarios.
	Overtaken *int64   `json:"overtaken,omitempty"`
	WaitP50   *float64 `json:"wait_p50_us,omitempty"`
	WaitP99   *float64 `json:"wait_p99_us,omitempty"`
	// MiBPerS is how much of bodies, in MiB, calls that succeeded moved in a second, and
	// CPUPerMiB the CPU time of this process for one of these, in microseconds. Nil in all
	// scenarios but download and upload, and CPUPerMiB where the system doesn't tell.
	MiBPerS   *float64 `json:"mib_per_s,omitempty"`
	CPUPerMiB *float64 `json:"cpu_us_per_mib,omitempty"`
	// Damaged counts the answers and, by the peer's record, the POSTs whose body was another
	// than the one sent. Nil where bodies aren't compared.
	Damaged *int64 `json:"damaged,omitempty"`

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

	// RPS is how many calls were made in a second, the time between waves left out. Those
	// that failed count: a client that fails at once makes more than one that sends again.
	RPS float64 `json:"rps"`
	// CPUPerRequest is this process's CPU time, user and system, in microseconds; nil
	// where the system doesn't tell.
	CPUPerRequest    *float64 `json:"cpu_us_per_request"`
	AllocsPerRequest float64  `json:"allocs_per_request"`
	// CPURatio compares CPUPerRequest with net/http's, or with the last client's if net/http
	// isn't among them, round by round; nil for that client itself.
	CPURatio *Ratio `json:"cpu_ratio"`
	// CPURatioTo is the client that CPURatio compares with; empty where that is nil.
	CPURatioTo string `json:"cpu_ratio_to,omitempty"`

	// PeakGoroutines and PeakFDs are the most of this process at one time, as looked at
	// every 50 ms, the loop that makes the calls included. PeakRSS is by how many bytes its
	// memory grew meanwhile, from what it was after a collection of garbage. Syscalls counts the
	// calls of read and write per request, as the system keeps no other count: recvfrom, sendmsg,
	// epoll_wait, futex and such aren't in it. Connwise makes one recvfrom for each request over
	// HTTP/1.1, and over HTTP/2 with TLS it reads and writes by recvfrom and sendmsg alone, so that
	// the figure can't be compared with another client's. Nil where the system doesn't tell: Linux
	// alone tells all of them.
	PeakGoroutines *int64   `json:"peak_goroutines"`
	PeakFDs        *int64   `json:"peak_fds"`
	PeakRSS        *int64   `json:"peak_rss_growth_bytes"`
	Syscalls       *float64 `json:"reads_writes_per_request"`

	// TimersLate is the longest, in milliseconds, that a timer of this process was late
	// meanwhile, as the machine was busy. Where it comes near a tenth of the idle timeout, failures
	// in idle-race and silent are the machine's as much as the client's, and near a second those
	// in deadaddr. Nil in other scenarios without a proxy.
	TimersLate *float64 `json:"timers_late_ms,omitempty"`

	// Percentiles are those of the latencies above, for plots; nil where they are nil.
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// Timeline is of the scenarios in which something happens at some time; nil elsewhere.
	Timeline *Timeline `json:"timeline,omitempty"`
	// Samples are the rounds.
	Samples []Sample `json:"samples"`
	// Partial says that the run was ended before all rounds of the row were complete: its
	// figures are of those in Samples, as many of each client.
	Partial bool `json:"partial,omitempty"`

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
