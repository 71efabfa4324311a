package bench

import (
	"context"
	"net/http"
	"time"
)

// A scenario is a kind of load with the faults that go with it.
type scenario struct {
	name   string
	about  string
	target bool // it can run against a server that isn't the peer
	gentle bool // it does without being named
	linux  bool // it can't run elsewhere
	slow   bool // its peer takes Options.Delay
	paced  bool // it keeps to Options.Rate
	traced bool // its rows have a timeline
	timed  bool // what the machine does late may make calls fail: it is noted
	loads  bool // it keeps to Options.Load, by way of busy or drive
	// least is how long its rows are measured at least where nothing says how long: what they
	// are about takes so long to happen. Nil: leastLength.
	least func(*plan) time.Duration
	// protos are those over which it can run, and quick those over which a run has it that
	// names no scenario. Nil: all of them; none.
	protos, quick []string
	// sizes are what its rows over a protocol differ by, see Setup.Size: those of a run
	// that names the scenario, or of any other. Nil: it has no sizes.
	sizes func(q proto, named bool) []int
	holds bool // as many calls as the size are under way beside the callers'
	// faults are the peer's, and callers the most requests at a time. limit is the most
	// time for each call; zero: none.
	limit   time.Duration
	faults  func(*plan) faults
	callers func(*plan) int
	// warm is for how many requests at once connections are wanted ready; nil: none.
	warm func(*plan) int
	// room is how many requests at a time there is room for, where the clients are told to
	// keep to a limit of the scenario's: connections, and over HTTP/2 streams of one
	// connection. Nil: Options.MaxConns is the only limit.
	room func(*plan) int
	// names are what the peer is called by in place of its address, which it has when this is
	// called; nil: nothing. The rig's urls are of these names, and Setup has their Resolver.
	names func(*rig) (*names, error)
	// run makes calls until the rig has had enough.
	run func(context.Context, *rig) error
}

// scenarios are all of them, in the table's order.
var scenarios = []scenario{
	{
		name:    "steady",
		about:   "closed loop of small GETs on warm connections",
		target:  true,
		gentle:  true,
		loads:   true,
		quick:   []string{"h1", "h1s", "h2"},
		faults:  func(*plan) faults { return faults{} },
		callers: func(p *plan) int { return p.Workers },
		run:     steady,
	},
	{
		name:    "burst",
		about:   "waves of simultaneous GETs, each on a new client that has no connection and knows nothing of the server, which takes 5 ms to answer (--delay). Before the next wave the last one's connections are closed, dials under way included. Every wave's p99 is taken, and the median of these",
		target:  true,
		slow:    true,
		quick:   []string{"h1s"},
		traced:  true,
		faults:  func(p *plan) faults { return faults{delay: p.Delay} },
		callers: func(p *plan) int { return p.Burst },
		run:     burst,
	},
	{
		name:    "burst-warm",
		about:   "open loop: 2000 GETs in a second (--rate) at their times, whether or not earlier ones are done, and 500 more (--burst) at once every second, the first of them after half a second. Latency counts from the time at which a GET was due. The server takes 5 ms (--delay). Connections for a burst and 100 ms of the rate are opened before",
		slow:    true,
		paced:   true,
		quick:   []string{"h1"},
		traced:  true,
		faults:  func(p *plan) faults { return faults{delay: p.Delay} },
		callers: func(*plan) int { return mostOpen },
		warm:    func(p *plan) int { return min(mostOpen, p.warmBurst+max(p.Rate/10, 16)) },
		run:     burstWarm,
	},
	burstLimit,
	queue,
	download,
	upload,
	cancelStorm,
	{
		name:    "idle-race",
		timed:   true,
		about:   "POSTs with pauses of 0.5 to 1.1 of the peer's idle timeout, each caller on a client of its own. Below its idle limit (the timeout less a tenth of it, at least 25 ms, at most 5 s or half) connwise reuses the connection; above, it opens a new one, which avoids the race and shows in dials. Over HTTP/2 the peer closes without a GOAWAY, as nghttpx, Varnish and Traffic Server do",
		quick:   []string{"h1"},
		least:   (*plan).idleTimes,
		faults:  func(p *plan) faults { return faults{idle: p.IdleTimeout} },
		callers: func(p *plan) int { return p.Workers },
		run:     idleRace,
	},
	{
		name:    "restart",
		about:   "POSTs and GETs while the peer restarts again and again, every 40 ms in another way, and drops connections: all of them at once, with 60 ms in which nobody listens; idle ones by FIN without close_notify and by RST, busy ones behind an answer, some in mid-flight. Over HTTP/2: without open streams by FIN and by RST, with them by GOAWAY at once and in two steps; and streams are refused",
		quick:   []string{"h1", "h2"},
		traced:  true,
		loads:   true,
		faults:  func(*plan) faults { return faults{} },
		callers: func(p *plan) int { return p.Workers },
		run:     restart,
	},
	{
		name:    "goaway",
		about:   "POSTs to a peer that ends each connection with its 100th request and takes 1 ms to answer: by GOAWAY in two steps, the last stream id 2^31-1 at once and the true one 20 ms later; it finishes what it accepted and drops later streams. Over HTTP/1.1 the 100th answer says Connection: close",
		quick:   []string{"h2"},
		loads:   true,
		faults:  func(*plan) faults { return faults{delay: time.Millisecond, perConn: goAwayEvery} },
		callers: func(p *plan) int { return p.Workers },
		run:     goaway,
	},
	keepAlive,
	midflight,
	refused,
	silent,
	deadAddr,
	idleConns,
	manyHosts,
}

// ScenarioNames returns the names of the scenarios.
func ScenarioNames() []string { return namesOf(scenarios, func(s scenario) string { return s.name }) }

// LoadScenarioNames returns the names of those that keep to Options.Load.
func LoadScenarioNames() []string { return scenariosThat(func(s scenario) bool { return s.loads }) }

// About returns a sentence on a scenario; empty for an unknown name.
func About(name string) string {
	for _, s := range scenarios {
		if s.name == name {
			return s.about
		}
	}
	return ""
}

// scenariosThat returns the names of those that are of a kind.
func scenariosThat(are func(scenario) bool) []string {
	var names []string
	for _, s := range scenarios {
		if are(s) {
			names = append(names, s.name)
		}
	}
	return names
}

func namesOf[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = name(v)
	}
	return names
}

// steady keeps all callers busy.
func steady(ctx context.Context, r *rig) error {
	r.settleIn(ctx)
	r.measure(func() { r.busy(ctx, http.MethodGet) })
	return nil
}

// goaway keeps all callers busy; the peer does the rest.
func goaway(ctx context.Context, r *rig) error {
	r.settleIn(ctx)
	r.measure(func() { r.busy(ctx, http.MethodPost) })
	return nil
}

// idleRace gives each caller a client of its own, as if each were a service with
// little to do. With one client for all, the connection that went idle last would
// serve all of them, and none would grow old.
func idleRace(ctx context.Context, r *rig) error {
	return inPaces(ctx, r, func(int) string { return http.MethodPost })
}

func inPaces(ctx context.Context, r *rig, method func(n int) string) error {
	cs, err := r.lanes(false)
	if err != nil {
		return err
	}
	r.measure(func() {
		inLanes(cs, func(i int, c *caller) {
			sleep(ctx, r.idleTimeout*time.Duration(i)/time.Duration(len(cs))) // not all in step
			for n := i; r.more(ctx, 1) > 0; n += len(cs) {
				c.call(ctx, method(n/len(cs)))
				sleep(ctx, min(pace(n, r.idleTimeout), time.Until(r.end)))
			}
		})
	})
	return nil
}

// pace returns the n-th pause. Half of them are spread over 0.5 to 0.9 of timeout,
// where a connection can be reused; the others are 0.9 to 1.1 of it, most of them
// close to it, where the peer's FIN and the request meet.
func pace(n int, timeout time.Duration) time.Duration {
	const step = 0.6180339887498949 // golden ratio: any few in a row are spread evenly
	x := float64(n) * step
	x = 2 * (x - float64(int(x)))
	share := 0.5 + 0.4*x
	if x >= 1 {
		x = 2*x - 3 // -1 to 1
		share = 1 + 0.1*x*x*x
	}
	return time.Duration(float64(timeout) * share)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
