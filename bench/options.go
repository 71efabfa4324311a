package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Options say what to run. The zero Options run some scenarios over some protocols, with
// DefaultClients, within a minute.
type Options struct {
	// Scenarios and Protos are names, see ScenarioNames and ProtoNames. Empty: some of each
	// that go together; with a Target steady alone, over HTTP/1.1 alone.
	Scenarios []string
	Protos    []string
	// All stands for every scenario, over every protocol or those that are named, within
	// five minutes. It isn't for runs that name scenarios.
	All bool
	// Clients are compared in this order, each with the last one's figures (see
	// Result.CPURatio). Empty: DefaultClients.
	Clients []Client

	// Target is the URL of a server to load in place of the peer: absolute, http or
	// https. It gets one GET for each protocol to see that it's there, and then GETs of
	// the scenario steady, of burst too where Scenarios names it, and nothing else. No call is sent
	// to it twice: connwise's retries are off, and a client that takes another
	// connection for a call which it has sent finds it closed, or the call cancelled.
	// Empty: the peer.
	Target string
	// Proxies stand between the clients and the peer, one after the other. Then the
	// scenarios are those of ProxiedScenarioNames, and Protos empty means HTTP/1.1 and HTTP/2
	// over TLS. It isn't for runs against a Target. Empty: nothing stands between.
	Proxies []Proxy
	// CallTimeout is the most time that a call to Target may take, its answer's body
	// included. One that takes longer has failed. Zero: 10 s.
	CallTimeout time.Duration

	// Workers are the callers at a time in all scenarios but the bursts and queue, whose
	// load they don't bound. Zero: 32, and 4 in download and upload.
	Workers int
	// Load is when requests are made, in the scenarios that keep all callers busy; the
	// others, which have arrivals of their own, are refused where they are named with an open
	// Load, and left out otherwise. Every client gets the same arrivals. Zero: closed.
	Load Load
	// Seed is what the random times of a poisson Load come from: with the same seed they are
	// the same in each run. The report has it. Zero: a new one.
	Seed uint64
	// Burst is the number of requests in each wave of burst, and of those that burst-warm
	// and burst-limit add each second. The last wave is smaller where Requests leaves less.
	// Zero: 256, and 500 in the latter two.
	Burst int
	// Rate is how many requests burst-warm and burst-limit make in a second beside their
	// bursts. Zero: 2000.
	Rate int
	// Delay is how long the peer takes to answer in the bursts and in queue. Zero: 5 ms, and
	// 20 ms in queue.
	Delay time.Duration
	// MaxSize is the largest size that idle-conns and hosts have rows of. Larger ones take
	// long to open and need two processes with as many descriptors. Zero: all.
	MaxSize int
	// MaxConns is the most connections that a client may have to the server at a time, in
	// all scenarios; those who want one more wait. In burst-limit and queue over HTTP/2 it is
	// how many streams one connection may have. Zero: no limit, and 64 in burst-limit, 16
	// in queue.
	MaxConns int
	// MaxWait is the longest that a call waits under MaxConns, with clients that have such
	// a setting (net/http hasn't). Then it has failed, and avoidably: the peer never got
	// it. Zero: no limit, and 5 s in burst-limit and queue.
	MaxWait time.Duration
	// Duration is how long each row runs, all rounds together. Zero: until Requests are made,
	// where they are given without a Target, but no longer than an hour; else 2 s where Scenarios
	// or Target are given, behind Proxies 2 to 5 s, and otherwise what is left of the run's
	// time, shared by the rows that are left: where the machine is slow later rows are shorter.
	// A row may take a little longer, as a wave that has begun is ended.
	Duration time.Duration
	// Requests is how many requests each row sends, warm-up included, or with a Duration or a
	// Target at most; its rounds share it, and none makes more than 67 million. Zero: 1000 with a Target, otherwise Duration alone is the bound.
	Requests int
	// Rounds is how often the clients take turns in each row, no more often than there
	// are Requests. Zero: 3, and behind Proxies, which start anew each time, 2.
	Rounds int
	// IdleTimeout is the peer's in idle-race and silent, or the Proxies'. Zero: 100 ms, and with Proxies
	// 1 s.
	IdleTimeout time.Duration

	// Progress is called before each round, on the goroutine of Run. Nil: not at all.
	Progress func(Step)
	// Stderr gets what the peer's process writes to its own. Nil: nothing.
	Stderr io.Writer
}

// A Step is a round about to begin. Done of Total rounds are over.
type Step struct {
	Done, Total             int
	Scenario, Proto, Client string
	Proxy                   string // empty: none
	Size                    int    // of scenarios that have sizes; otherwise zero
}

// A UsageError is what Run returns for Options that can't be run.
type UsageError struct {
	Option string   // "scenario", "proto", "client", "target", ...
	Value  string   // what was given
	Reason string   // what is wrong with it
	Known  []string // what would be right, where that is a list
}

// Error names the option, the value, and what would be right.
func (e *UsageError) Error() string {
	s := fmt.Sprintf("bench: %s %q: %s", e.Option, e.Value, e.Reason)
	if len(e.Known) > 0 {
		s += "; known: " + strings.Join(e.Known, ", ")
	}
	return s
}
