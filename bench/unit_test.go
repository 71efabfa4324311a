package bench

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

func TestJudge(t *testing.T) {
	const post = unsafeBase
	tests := []struct {
		name         string
		ex           peer.Executions
		safe, unsafe uint64
		failed       []uint64
		cancelled    []uint64
		want         record
	}{
		{"all once", peer.Executions{{First: 1, N: 3, Count: 1}, {First: post + 1, N: 2, Count: 1}}, 3, 2, nil, nil, record{}},
		{"nothing sent", nil, 0, 0, nil, nil, record{}},
		{"a GET twice", peer.Executions{{First: 1, N: 1, Count: 2}}, 1, 0, nil, nil, record{}},
		{"two POSTs twice", peer.Executions{{First: post + 1, N: 2, Count: 2}}, 0, 2, nil, nil, record{twice: 2}},
		{"failed and executed", peer.Executions{{First: post + 1, N: 1, Count: 1}}, 0, 1, []uint64{post + 1}, nil, record{}},
		{"failed, never executed", peer.Executions{{First: post + 1, N: 1, Count: 1}}, 0, 2, []uint64{post + 2}, nil, record{avoidable: 1}},
		{"answered, never executed", peer.Executions{{First: 1, N: 1, Count: 1}, {First: 3, N: 1, Count: 1}}, 3, 0, nil, nil, record{lost: 1}},
		{"all at once", peer.Executions{{First: 1, N: 1, Count: 1}, {First: post + 2, N: 1, Count: 3}}, 3, 3, []uint64{2, post + 3}, nil, record{avoidable: 2, twice: 1, lost: 2}},
		{"cancelled, executed and not", peer.Executions{{First: post + 1, N: 1, Count: 1}}, 1, 2, nil, []uint64{1, post + 1, post + 2}, record{}},
		{"cancelled and twice", peer.Executions{{First: post + 1, N: 1, Count: 2}}, 0, 1, nil, []uint64{post + 1}, record{twice: 1}},
		{"one cancelled, another lost", peer.Executions{{First: 1, N: 1, Count: 1}}, 1, 2, nil, []uint64{post + 1}, record{lost: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(tt.ex, tt.safe, tt.unsafe, tt.failed, tt.cancelled); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string // in the error; empty: none
	}{
		{"zero", Options{}, ""},
		{"scenario", Options{Scenarios: []string{"steady", "stedy"}}, `scenario "stedy": unknown; known: steady, burst, burst-warm`},
		{"proto", Options{Protos: []string{"h3"}}, `proto "h3": unknown; known: h1, h1s, h2, h2c`},
		{"protos", Options{Protos: []string{"h2", "h2c"}}, ""},
		{"workers", Options{Workers: -1}, "workers"},
		{"burst", Options{Burst: 1e6}, "1 to 10000"},
		{"rounds", Options{Rounds: 101}, "rounds"},
		{"requests", Options{Requests: -1}, "requests"},
		{"duration", Options{Duration: -time.Second}, "duration"},
		{"call timeout", Options{CallTimeout: -time.Second}, "call-timeout"},
		{"idle timeout", Options{IdleTimeout: time.Millisecond}, "20ms"},
		{"delay", Options{Delay: -time.Second}, "more than 0"},
		{"delay in burst", Options{Delay: time.Second, Scenarios: []string{"steady", "burst"}}, ""},
		{"delay of nobody", Options{Delay: time.Second, Scenarios: []string{"steady", "goaway"}}, "known: burst, burst-warm"},
		{"delay of a target", Options{Delay: time.Second, Target: "http://h/", Scenarios: []string{"burst"}}, "can't be set of a target"},
		{"rate", Options{Rate: 1e6}, "1 to 100000"},
		{"rate of nobody", Options{Rate: 1, Scenarios: []string{"burst"}}, "known: burst-warm"},
		{"burst of nobody", Options{Burst: 5, Scenarios: []string{"steady", "restart"}}, "burst \"5\": none of the scenarios chosen has it; known: burst, burst-warm, burst-limit"},
		{"burst in burst-limit", Options{Burst: 5, Scenarios: []string{"burst-limit"}}, ""},
		{"largest size of nobody", Options{MaxSize: 5, Scenarios: []string{"steady"}}, "known: idle-conns, hosts"},
		{"largest size in hosts", Options{MaxSize: 5, Scenarios: []string{"steady", "hosts"}}, ""},
		{"call timeout of the peer", Options{CallTimeout: time.Second}, "is for calls to a target"},
		{"call timeout of a target", Options{CallTimeout: time.Second, Target: "http://h/"}, ""},
		{"burst in burst-warm", Options{Burst: 5, Scenarios: []string{"burst-warm"}}, ""},
		{"workers of nobody", Options{Workers: 5, Scenarios: []string{"burst", "burst-warm"}}, "none of the scenarios chosen has it; known: steady, "},
		{"workers in steady", Options{Workers: 5, Scenarios: []string{"steady", "burst"}}, ""},
		{"workers of a target", Options{Workers: 5, Target: "http://h/"}, ""},
		{"workers of a target's burst", Options{Workers: 5, Target: "http://h/", Scenarios: []string{"burst"}}, "none of the scenarios chosen has it"},
		{"burst of a target's steady", Options{Burst: 5, Target: "http://h/"}, "none of the scenarios chosen has it"},
		{"idle timeout of nobody", Options{IdleTimeout: time.Second, Scenarios: []string{"steady", "restart"}}, "none of the scenarios chosen has it; known: idle-race"},
		{"idle timeout in idle-race", Options{IdleTimeout: time.Second, Scenarios: []string{"idle-race", "steady"}}, ""},
		{"all that a run of all has", Options{All: true, Workers: 5, Burst: 5, IdleTimeout: time.Second, Rate: 5, Delay: time.Second}, ""},
		{"rate in burst-warm", Options{Rate: 1, Scenarios: []string{"burst-warm"}}, ""},
		{"max conns", Options{MaxConns: -1}, "0 (no limit) or more"},
		{"max wait", Options{MaxConns: 1, MaxWait: 2 * time.Hour}, "at most 1h"},
		{"max wait for nothing", Options{MaxWait: time.Second, Scenarios: []string{"steady", "burst"}}, "without max-conns"},
		{"max wait in queue", Options{MaxWait: time.Second, Scenarios: []string{"steady", "queue"}}, ""},
		{"max wait and conns", Options{MaxWait: time.Second, MaxConns: 1}, ""},
		{"target", Options{Target: "http://h/"}, ""},
		{"target without scheme", Options{Target: "localhost:80"}, "must be a URL like"},
		{"target broken", Options{Target: "http://u:secret@h:bad port/"}, "must be a URL like"},
		{"target ftp", Options{Target: "ftp://u:secret@h/"}, "must be a URL like"},
		{"target burst-warm", Options{Target: "http://h/", Scenarios: []string{"burst-warm"}}, "known: steady, burst"},
		{"target idle-race", Options{Target: "http://h/", Scenarios: []string{"idle-race"}}, "known: steady, burst"},
		{"target proto", Options{Target: "http://h/", Protos: []string{"h1s"}}, "scheme http"},
		{"target h2", Options{Target: "http://h/", Protos: []string{"h2"}}, "scheme http"},
		{"target h2c", Options{Target: "https://h/", Protos: []string{"h2c"}}, "scheme https"},
		{"target goaway", Options{Target: "http://h/", Scenarios: []string{"goaway"}, Protos: []string{"h2c"}}, "known: steady, burst"},
		{"target https h2", Options{Target: "https://h/", Protos: []string{"h2", "h1s"}}, ""},
		{"target https", Options{Target: "https://h/", Protos: []string{"h1s"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.o.plan()
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if _, ok := errors.AsType[*UsageError](err); !ok {
				t.Fatalf("error %v, want a *UsageError", err)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q, want %q in it and no password", err, tt.want)
			}
		})
	}
}

func TestPlanFillsIn(t *testing.T) {
	p, err := Options{Scenarios: []string{"burst", "steady", "burst"}}.plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.scenarios()) != 2 || p.scenarios()[0].name != "burst" {
		t.Errorf("scenarios %v, want burst and steady once each", namesOf(p.scenarios(), func(s scenario) string { return s.name }))
	}
	if p.Burst != 256 || p.warmBurst != 500 || p.Rate != 2000 || p.Delay != 5*time.Millisecond {
		t.Errorf("defaults of the bursts: %d, %d, %d, %v", p.Burst, p.warmBurst, p.Rate, p.Delay)
	}
	if len(p.protos()) != 4 || len(p.Clients) != 4 || p.Workers != 32 || p.Rounds != 3 {
		t.Errorf("defaults: %+v", p)
	}
}

func TestClientsNamed(t *testing.T) {
	cs, err := ClientsNamed(DefaultClients(), "net/http", "connwise", "net/http")
	if err != nil || len(cs) != 2 || cs[0].Name != "net/http" || cs[1].Name != "connwise" {
		t.Errorf("got %v, %v", cs, err)
	}
	_, err = ClientsNamed(DefaultClients(), "curl")
	if ue, ok := errors.AsType[*UsageError](err); !ok || ue.Value != "curl" {
		t.Errorf("error %v, want a *UsageError on curl", err)
	}
}

// TestSetupSpeaksTheProtocolOfTheRow pins what a client may use, and that it keeps as
// many idle connections as there are callers.
func TestSetupSpeaksTheProtocolOfTheRow(t *testing.T) {
	tests := []struct {
		proto           string
		http1, h2, h2c  bool
		forced, unknown bool
	}{
		{proto: "h1", http1: true},
		{proto: "h1s", http1: true},
		{proto: "h2", http1: true, h2: true, forced: true},
		{proto: "h2c", h2c: true},
		{proto: "", http1: true, unknown: true},
	}
	for _, tt := range tests {
		tr := Setup{Proto: tt.proto, Callers: 300, MaxConns: 7}.Transport()
		p := tr.Protocols
		if p.HTTP1() != tt.http1 || p.HTTP2() != tt.h2 || p.UnencryptedHTTP2() != tt.h2c || tr.ForceAttemptHTTP2 != tt.forced {
			t.Errorf("%q: protocols %v, forced %v", tt.proto, p, tr.ForceAttemptHTTP2)
		}
		if tr.MaxIdleConnsPerHost != 300 || tr.MaxIdleConns != 0 || tr.MaxConnsPerHost != 7 {
			t.Errorf("idle connections %d and %d of %d, want 300 and no limit of 7", tr.MaxIdleConnsPerHost, tr.MaxIdleConns, tr.MaxConnsPerHost)
		}
		if (AboutProto(tt.proto) == "") != tt.unknown {
			t.Errorf("%q is %q", tt.proto, AboutProto(tt.proto))
		}
	}
}

// TestOnlyATargetIsReachedByTheEnvironmentsProxy: the peer's names mean nothing to it, and what
// is for the peer is to stay on this machine.
func TestOnlyATargetIsReachedByTheEnvironmentsProxy(t *testing.T) {
	if tr := (Setup{Proto: "h1"}).Transport(); tr.Proxy != nil {
		t.Error("the peer is called through the environment's proxy")
	}
	if tr := (Setup{Proto: "h1", Target: true}).Transport(); tr.Proxy == nil {
		t.Error("a target isn't called through the environment's proxy")
	}
}

// TestFaultsAreTheSameForBothServers pins that a row differs from the one of another
// protocol by the protocol alone.
func TestFaultsAreTheSameForBothServers(t *testing.T) {
	for _, f := range []faults{{}, {delay: 1}, {idle: 2}, {delay: 3, perConn: 4}} {
		h1, h2 := f.http1(), f.http2()
		if h1.Delay != h2.Delay || h1.IdleTimeout != h2.IdleTimeout || h1.MaxRequests != h2.StreamsPerConn || h1.BodySize != h2.BodySize {
			t.Errorf("%+v is %+v and %+v", f, h1, h2)
		}
		if h2.GoAway.Quiet != (f.idle > 0) || !h2.GoAway.Quiet && h2.GoAway.Grace <= 0 {
			t.Errorf("%+v ends connections by %+v", f, h2.GoAway)
		}
	}
}

func TestPaceStaysInRange(t *testing.T) {
	const timeout = 100 * time.Millisecond
	near, below := 0, 0
	for n := range 1000 {
		d := pace(n, timeout)
		if d < timeout*9/10 {
			below++
		}
		if d < timeout/2 || d > timeout*11/10 {
			t.Fatalf("pause %d is %v", n, d)
		}
		if d > timeout-time.Millisecond && d < timeout+time.Millisecond {
			near++
		}
	}
	if near < 150 || near > 350 {
		t.Errorf("%d of 1000 pauses within 1 ms of the timeout, want about a quarter", near)
	}
	if below < 450 || below > 550 {
		t.Errorf("%d of 1000 pauses below 0.9 of the timeout, want about half", below)
	}
}

func TestIdleLimit(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		0:                      0,
		20 * time.Millisecond:  10 * time.Millisecond,
		100 * time.Millisecond: 75 * time.Millisecond,
		time.Second:            900 * time.Millisecond,
		time.Minute:            55 * time.Second,
	} {
		if got := (Setup{IdleTimeout: timeout}).IdleLimit(); got != want {
			t.Errorf("below %v = %v, want %v", timeout, got, want)
		}
	}
}

// labOf is a lab for one round that ends with the test.
func labOf(t testing.TB, o Options) *lab {
	t.Helper()
	o.Rounds, o.Stderr = 1, os.Stderr
	p, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLab(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}
