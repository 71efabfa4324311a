package bench

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// smoke are options for a run of a second or two.
func smoke() Options {
	return Options{
		Duration: 250 * time.Millisecond,
		Rounds:   1,
		Stderr:   os.Stderr,
	}
}

// TestRunAll runs every scenario over every protocol with both clients. What it asserts
// of connwise holds for every request: none runs twice, none is lost, and none fails
// that the peer did not execute.
//
// Two scenarios at a time run: most wait more than they work.
func TestRunAll(t *testing.T) {
	o := smoke()
	o.Rate, o.All, o.Clients = 200, true, []Client{Connwise(), NetHTTP()}
	o.Workers, o.Burst, o.IdleTimeout = 4, 16, 80*time.Millisecond
	o.Duration, o.MaxSize = 100*time.Millisecond, 10
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p, err := o.plan()
			if err != nil {
				t.Fatal(err)
			}
			if s.name == download.name || s.name == upload.name {
				p.own.Workers = 1 // with the race detector a body takes its time
			}
			p.rows = slices.DeleteFunc(p.rows, func(w row) bool { return w.scenario.name != s.name })
			rep, err := p.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := p.rounds(); len(rep.Results) != want || want == 0 {
				t.Fatalf("%d results, want %d", len(rep.Results), want)
			}
			checkResults(t, rep.Results)
		})
	}
}

func checkResults(t *testing.T, results []Result) {
	for _, r := range results {
		name := r.Scenario + " " + r.Proto + " " + r.Client
		if r.Scenario == "deadaddr" && r.Succeeded() == 0 && r.Client != "connwise" {
			continue // all of its callers may wait for the dead address
		}
		if r.Requests == 0 || *r.Dials == 0 || r.RPS <= 0 || *r.P50 <= 0 || *r.P50 > *r.P99 || *r.P99 > *r.P999 {
			t.Errorf("%s: the figures can't be: %+v", name, r)
		}
		if r.AllocsPerRequest <= 0 || (haveCPU && *r.CPUPerRequest <= 0) {
			t.Errorf("%s: no CPU or allocations: %+v", name, r)
		}
		if *r.Lost != 0 {
			t.Errorf("%s: %d lost", name, *r.Lost)
		}
		if *r.PeakConns < 1 || *r.PeakConns > *r.Dials || (r.Dialled != nil) != (r.Scenario == "burst-warm" || r.Scenario == "burst-limit") {
			t.Errorf("%s: %d connections at a time of %d, dialled %v", name, *r.PeakConns, *r.Dials, r.Dialled)
		}
		if (r.Waves != nil) != (r.Scenario == "burst") {
			t.Errorf("%s: %v waves", name, r.Waves)
		}
		if r.Scenario == "goaway" && *r.Dials < r.Requests/goAwayEvery {
			t.Errorf("%s: %d dials for %d requests, of which each connection takes %d", name, *r.Dials, r.Requests, goAwayEvery)
		}
		if own := (r.Cancelled != nil) == (r.Scenario == "cancel") && (r.Overtaken != nil) == (r.Scenario == "queue") &&
			(r.MiBPerS != nil) == (r.Scenario == "download" || r.Scenario == "upload") && (r.Damaged == nil || *r.Damaged == 0); !own {
			t.Errorf("%s: what only some scenarios have: %+v", name, r)
		}
		if r.Client != "connwise" {
			continue
		}
		// A machine that stops this process for longer than the margin of the idle limit,
		// 25 ms here, lets a request meet the peer's FIN: that may be one, not one of each
		// few dozen as with net/http. The peer's process may be stopped when this one isn't.
		excused := int64(0)
		switch {
		case r.TimersLate != nil && *r.TimersLate > 20:
			excused = r.Requests
		case r.Scenario == "idle-race" || r.Scenario == "silent":
			excused = 1
		}
		if *r.ExecutedTwice != 0 || *r.Avoidable > excused {
			t.Errorf("%s: %d executed twice, %d avoidable failures; first error: %s", name, *r.ExecutedTwice, *r.Avoidable, r.FirstError)
		}
		// What is cut in mid-flight has to fail, as in restart over HTTP/1.1; of midflight's
		// requests three in four are POSTs, and one in cutEvery of these is cut. FirstError has
		// what the peer saw of broken rules, too.
		if most := r.Requests*3/4/cutEvery + 1; r.Scenario == "midflight" && r.Failed > most {
			t.Errorf("%s: %d of %d failed, want at most %d; first: %s", name, r.Failed, r.Requests, most, r.FirstError)
		}
		if cut := r.Scenario == "midflight" || r.Scenario == "restart" && !protoNamed(r.Proto).h2; !cut && (r.Failed > excused || r.Failed == 0 && r.FirstError != "") {
			t.Errorf("%s: %d failed; first: %s", name, r.Failed, r.FirstError)
		}
	}
}

// TestRunJudgesClients runs clients that do what the oracle is there to find.
func TestRunJudgesClients(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos = []string{"idle-race"}, []string{"h1"}
	o.Workers, o.IdleTimeout = 4, 80*time.Millisecond
	twice := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			again := req.Clone(req.Context())
			again.Body, _ = req.GetBody()
			if resp, err := rt.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
			return rt.RoundTrip(again)
		}
	}
	liar := func(http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			h := http.Header{"X-Request-Id": req.Header["X-Request-Id"]}
			return &http.Response{StatusCode: 200, Header: h, Body: http.NoBody}, nil
		}
	}
	lazy := func(http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return nil, errors.New("not today") }
	}
	mixed := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(req)
			if err == nil {
				resp.Header.Set("X-Request-Id", "1")
			}
			return resp, err
		}
	}
	o.Clients = []Client{wrapped("twice", twice), wrapped("liar", liar), wrapped("lazy", lazy), wrapped("mixed", mixed)}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]Result)
	for _, r := range rep.Results {
		rows[r.Client] = r
	}
	if r := rows["twice"]; *r.ExecutedTwice != r.Requests || *r.Lost != 0 || r.Failed != 0 {
		t.Errorf("twice: %d of %d executed twice, %d lost, %d failed", *r.ExecutedTwice, r.Requests, *r.Lost, r.Failed)
	}
	if r := rows["liar"]; *r.Lost != r.Requests || r.Failed != 0 || *r.Dials != 0 {
		t.Errorf("liar: %d of %d lost, %d failed, %d dials", *r.Lost, r.Requests, r.Failed, *r.Dials)
	}
	if r := rows["lazy"]; *r.Avoidable != r.Requests || r.Failed != r.Requests || *r.Lost != 0 {
		t.Errorf("lazy: %d of %d failed, %d avoidable, %d lost", r.Failed, r.Requests, *r.Avoidable, *r.Lost)
	}
	if r := rows["mixed"]; r.Failed != r.Requests || *r.Avoidable != 0 || r.FirstError != errForeign.Error() {
		t.Errorf("mixed: %d of %d failed, %d avoidable; first: %s", r.Failed, r.Requests, *r.Avoidable, r.FirstError)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// wrapped is a client without keep-alive, which the idle timeout can't touch,
// inside w.
func wrapped(name string, w func(http.RoundTripper) func(*http.Request) (*http.Response, error)) Client {
	return Client{Name: name, New: func(s Setup) (http.RoundTripper, error) {
		tr := s.Transport()
		tr.DisableKeepAlives = true
		return roundTripper(w(tr)), nil
	}}
}

// TestRequestsBound checks that Requests bounds all that a row sends, warm-up and
// waves included, however it divides.
func TestRequestsBound(t *testing.T) {
	for _, tt := range []struct{ requests, rounds int }{{100, 2}, {101, 3}, {7, 2}, {1, 5}} {
		o := smoke()
		o.Clients, o.Protos = []Client{NetHTTP()}, []string{"h1"}
		o.Scenarios = []string{"steady", "burst"}
		o.Requests, o.Rounds, o.Duration = tt.requests, tt.rounds, time.Minute
		rep, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rep.Results {
			if r.Requests != int64(tt.requests) || r.Succeeded() != r.Requests {
				t.Errorf("%s: %d requests in %d rounds, %d succeeded; want %d", r.Scenario, r.Requests, tt.rounds, r.Succeeded(), tt.requests)
			}
		}
	}
}

// TestInterrupted ends a run while its second row is under way.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smoke()
	o.Clients, o.Scenarios = []Client{NetHTTP()}, []string{"steady", "burst"}
	o.Protos = []string{"h1"}
	o.Duration = 10 * time.Second
	o.Requests = 50
	o.Progress = func(s Step) {
		if s.Done == 1 {
			cancel()
		}
	}
	rep, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || len(rep.Results) != 1 || rep.Results[0].Scenario != "steady" {
		t.Errorf("%d rows, %v; want the first row and context.Canceled", len(rep.Results), err)
	}
}

// TestInterruptedInARow ends a row that would take an hour, in each scenario.
func TestInterruptedInARow(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var calls atomic.Int64
			last := int64(40)
			if s.name == download.name || s.name == upload.name {
				last = 12 // large ones
			}
			o := smoke()
			o.Scenarios, o.Protos, o.Duration = []string{s.name}, []string{"h1"}, time.Hour
			if s.protos != nil {
				o.Protos = s.protos[:1]
			}
			o.Clients = []Client{{Name: "x", New: func(s Setup) (http.RoundTripper, error) {
				tr := s.Transport()
				return closing{roundTripper(func(req *http.Request) (*http.Response, error) {
					if calls.Add(1) == last {
						cancel()
					}
					return tr.RoundTrip(req)
				}), tr}, nil
			}}}
			rep, err := Run(ctx, o)
			if !errors.Is(err, context.Canceled) || len(rep.Results) != 0 {
				t.Errorf("%d rows, %v; want none and context.Canceled", len(rep.Results), err)
			}
		})
	}
}

// closing is a RoundTripper with another one's CloseIdleConnections.
type closing struct {
	http.RoundTripper
	tr *http.Transport
}

func (c closing) CloseIdleConnections() { c.tr.CloseIdleConnections() }

func TestClientThatCannotBeMade(t *testing.T) {
	broken := errors.New("no such thing")
	o := smoke()
	o.Clients = []Client{{Name: "x", New: func(Setup) (http.RoundTripper, error) { return nil, broken }}}
	if _, err := Run(t.Context(), o); !errors.Is(err, broken) || !strings.Contains(err.Error(), "steady h1 x") {
		t.Errorf("error %v, want it to name the row and the cause", err)
	}
}
