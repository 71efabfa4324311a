package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options say what to run. The zero Options run every scenario over every protocol
// with connwise and net/http, which takes a minute and a half.
type Options struct {
	// Scenarios and Protos are names, see ScenarioNames and ProtoNames. Empty: all;
	// with a Target steady alone, over HTTP/1.1 alone.
	Scenarios []string
	Protos    []string
	// Clients are compared in this order. Empty: Connwise and NetHTTP.
	Clients []Client

	// Target is the URL of a server to load in place of the peer: absolute, http or
	// https. It gets one GET for each protocol to see that it's there, and then GETs of
	// the scenario steady, of burst too where Scenarios names it, and nothing else. No call is sent
	// to it twice: connwise's retries are off, and a client that takes another
	// connection for a call which it has sent finds it closed, or the call cancelled.
	// Empty: the peer.
	Target string
	// CallTimeout is the most time that a call to Target may take, its answer's body
	// included. One that takes longer has failed. Zero: 10 s.
	CallTimeout time.Duration

	// Workers are the callers at a time in all scenarios but burst. Zero: 32.
	Workers int
	// Burst is the number of requests in each wave of burst, which Workers doesn't
	// bound. The last wave is smaller where Requests leaves less. Zero: 256.
	Burst int
	// Duration is how long each row runs, all rounds together. Zero: 2 s. A row may
	// take a little longer, as a wave that has begun is ended.
	Duration time.Duration
	// Requests bounds what each row sends, warm-up included; its rounds share it.
	// Zero: 1000 with a Target, otherwise Duration alone is the bound.
	Requests int
	// Rounds is how often the clients take turns in each row, no more often than there
	// are Requests. Zero: 2.
	Rounds int
	// IdleTimeout is the peer's in idle-race. Zero: 100 ms.
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

// A plan is Options with names resolved and zeros replaced.
type plan struct {
	Options
	scenarios []scenario
	protos    []proto
	target    *url.URL // nil: the peer
}

func (o Options) plan() (*plan, error) {
	p := &plan{Options: o}
	p.Workers = cmp.Or(o.Workers, 32)
	p.Burst = cmp.Or(o.Burst, 256)
	p.Duration = cmp.Or(o.Duration, 2*time.Second)
	p.Rounds = cmp.Or(o.Rounds, 2)
	p.IdleTimeout = cmp.Or(o.IdleTimeout, 100*time.Millisecond)
	p.CallTimeout = cmp.Or(o.CallTimeout, 10*time.Second)
	if o.Target != "" {
		p.Requests = cmp.Or(o.Requests, targetRequests)
	}
	if len(o.Clients) == 0 {
		p.Clients = []Client{Connwise(), NetHTTP()}
	}
	if err := p.checkNumbers(); err != nil {
		return nil, err
	}
	if p.Requests > 0 {
		p.Rounds = min(p.Rounds, p.Requests)
		p.Burst = min(p.Burst, int(p.share(p.Rounds-1)))
	}
	if err := p.resolveTarget(); err != nil {
		return nil, err
	}
	if err := p.resolveScenarios(); err != nil {
		return nil, err
	}
	return p, p.resolveProtos()
}

// targetRequests is what Requests is with a target when nothing else is said: the
// server is somebody's.
const targetRequests = 1000

// share returns how many of Requests a round may send, the last of them no fewer
// than the others.
func (p *plan) share(round int) int64 {
	if p.Requests == 0 {
		return math.MaxInt64
	}
	n := int64(p.Requests)
	return n*int64(round+1)/int64(p.Rounds) - n*int64(round)/int64(p.Rounds)
}

// checkNumbers keeps the run within what one machine's loopback can take.
func (p *plan) checkNumbers() error {
	const most = 10_000 // connections: descriptors, in both processes
	for _, n := range []struct {
		option string
		value  int
		most   int
	}{{"workers", p.Workers, most}, {"burst", p.Burst, most}, {"rounds", p.Rounds, 100}} {
		if n.value < 1 || n.value > n.most {
			return &UsageError{Option: n.option, Value: fmt.Sprint(n.value), Reason: fmt.Sprintf("must be 1 to %d", n.most)}
		}
	}
	if p.Requests < 0 {
		return &UsageError{Option: "requests", Value: fmt.Sprint(p.Requests), Reason: "must be 0 (no bound) or more"}
	}
	if p.Duration < 0 || p.Duration > time.Hour {
		return &UsageError{Option: "duration", Value: p.Duration.String(), Reason: "must be more than 0 and at most 1h"}
	}
	if p.CallTimeout < 0 || p.CallTimeout > time.Hour {
		return &UsageError{Option: "call-timeout", Value: p.CallTimeout.String(), Reason: "must be more than 0 and at most 1h"}
	}
	if p.IdleTimeout < 20*time.Millisecond || p.IdleTimeout > time.Minute {
		return &UsageError{Option: "idle-timeout", Value: p.IdleTimeout.String(), Reason: "must be 20ms to 1m"}
	}
	return nil
}

func (p *plan) resolveTarget() error {
	if p.Target == "" {
		return nil
	}
	u, err := url.Parse(p.Target)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// url.Parse's error would repeat the URL, credentials included.
		return &UsageError{Option: "target", Value: redact(u), Reason: "must be a URL like http://host:port/path or https://host/path"}
	}
	p.target = u
	return nil
}

func redact(u *url.URL) string {
	if u == nil {
		return "..."
	}
	return u.Redacted()
}

func (p *plan) resolveScenarios() error {
	for _, name := range p.Options.Scenarios {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return &UsageError{Option: "scenario", Value: name, Reason: "unknown", Known: ScenarioNames()}
		}
		if p.target != nil && !scenarios[i].target {
			return &UsageError{Option: "scenario", Value: name, Reason: "needs the peer's faults, and can't run against a target", Known: targetScenarios()}
		}
		if !slices.ContainsFunc(p.scenarios, func(s scenario) bool { return s.name == name }) {
			p.scenarios = append(p.scenarios, scenarios[i])
		}
	}
	if len(p.scenarios) == 0 {
		for _, s := range scenarios {
			if p.target == nil || s.gentle {
				p.scenarios = append(p.scenarios, s)
			}
		}
	}
	return nil
}

func (p *plan) resolveProtos() error {
	for _, name := range p.Options.Protos {
		i := slices.IndexFunc(protos, func(q proto) bool { return q.name == name })
		if i < 0 {
			return &UsageError{Option: "proto", Value: name, Reason: "unknown", Known: ProtoNames()}
		}
		if p.target != nil && protos[i].tls != (p.target.Scheme == "https") {
			return &UsageError{Option: "proto", Value: name, Reason: "doesn't fit the target's scheme " + p.target.Scheme}
		}
		if !slices.Contains(p.protos, protos[i]) {
			p.protos = append(p.protos, protos[i])
		}
	}
	if len(p.protos) == 0 {
		for _, q := range protos {
			if p.target == nil || !q.h2 && q.tls == (p.target.Scheme == "https") {
				p.protos = append(p.protos, q)
			}
		}
	}
	return nil
}
