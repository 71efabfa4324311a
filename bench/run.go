package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"example.com/connwise/internal/peer"
)

// hangLimit is how much longer than planned a round may take before its calls are
// cancelled and Run gives up.
const hangLimit = 30 * time.Second

// openLimit is how much of that comes with each connection of a row's size: with TLS, and on
// a machine that has more to do.
const openLimit = 10 * time.Millisecond

// IsChild reports whether this process was started by Run to be the peer; main
// then has to call ChildMain and exit.
func IsChild() bool { return peer.IsChild() }

// ChildMain is the peer's process. It returns the exit code when stdin ends.
func ChildMain(stdin io.Reader, stdout, stderr io.Writer) int {
	return peer.ChildMain(stdin, stdout, stderr)
}

// Run runs what the options say and returns a row for each combination. It blocks
// for about Duration for each. When ctx ends it returns the rows that were complete, a row
// of which all clients have made the same rounds as Partial, and ctx's error; with a
// *UsageError nothing was run.
func Run(ctx context.Context, o Options) (Report, error) {
	p, err := o.plan()
	if err != nil {
		return Report{}, err
	}
	return p.run(ctx)
}

func (p *plan) run(ctx context.Context) (Report, error) {
	l, err := newLab(ctx, p)
	if err != nil {
		return Report{}, err
	}
	defer l.close()
	rep := Report{Started: time.Now(), Seed: p.Seed, Machine: thisMachine(), Proxies: p.proxyNotes(), Skipped: p.skipped}
	for _, c := range p.Clients {
		rep.Clients = append(rep.Clients, ClientNote{c.Name, c.Note, builtIn(c.Module), p.absent(c)})
	}
	c := clock{plan: p, began: rep.Started}
	for i, w := range p.rows {
		if length := c.take(p.rows[i:]); length > 0 {
			w.usual = length
		}
		results, err := l.results(ctx, w)
		rep.Results = append(rep.Results, results...)
		if err != nil {
			return rep, err
		}
	}
	return rep, nil
}

// A lab is a run: the plan and the peer's process.
type lab struct {
	*plan
	child *peer.Child // nil with a target
	done  int         // rounds
}

func newLab(ctx context.Context, p *plan) (*lab, error) {
	l := &lab{plan: p}
	if p.target != nil {
		return l, l.knock(ctx)
	}
	var err error
	l.child, err = peer.Spawn(p.Stderr)
	return l, err
}

func (l *lab) close() {
	if l.child != nil {
		_ = l.child.Close() // its report was taken; how it ends changes nothing
	}
}

// results runs one row with all clients, in turns. When ctx ends its results are of the
// rounds that all clients have made, if there are any; with another error there are none.
func (l *lab) results(ctx context.Context, w row) ([]Result, error) {
	clients := l.clientsOf(w)
	tallies := make([]tally, len(clients))
	for i := range tallies {
		tallies[i].latency = newHistogram()
	}
	for round := range l.Rounds {
		adds := make([]func(*tally), len(clients))
		for i := range clients {
			k := (i + round) % len(clients) // who is first changes, too
			l.progress(w, clients[k])
			var err error
			if adds[k], err = l.round(ctx, w, clients[k], round); err != nil {
				if ctx.Err() == nil || round == 0 {
					return nil, err
				}
				return l.resultsOf(w, clients, tallies, true), err
			}
			l.done++
		}
		for k, add := range adds { // now that all have made it
			add(&tallies[k])
		}
	}
	return l.resultsOf(w, clients, tallies, false), nil
}

// resultsOf makes a row's results of what was tallied.
func (l *lab) resultsOf(w row, clients []Client, tallies []tally, partial bool) []Result {
	results := make([]Result, len(tallies))
	for i, c := range clients {
		results[i] = tallies[i].result(w, c.Name)
		results[i].Partial = partial
		if load := l.loadOf(w.scenario); load.open() {
			results[i].Load = load.String()
		}
	}
	compareCPU(results)
	return results
}

func (l *lab) progress(w row, c Client) {
	if l.Progress == nil {
		return
	}
	l.Progress(Step{Done: l.done, Total: l.rounds(), Scenario: w.scenario.name, Proto: w.proto.name, Proxy: w.proxyName(), Size: w.size, Client: c.Name})
}

// round runs one client once, against a server of its own. What it returns adds the round
// to a tally.
func (l *lab) round(ctx context.Context, w row, c Client, n int) (add func(*tally), err error) {
	defer func() {
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx) // the failures that followed from it tell nothing
		case err != nil:
			err = fmt.Errorf("bench: %s %s: %w", w, c.Name, err)
		}
	}()
	r, err := l.newRig(w, c, l.share(n))
	if err != nil {
		return nil, err
	}
	r.round = n
	limited, cancel := context.WithTimeout(ctx, r.length+r.callTimeout+hangLimit+time.Duration(r.size)*openLimit)
	defer cancel()
	err = w.scenario.run(limited, r)
	if cerr := r.closeClients(); err == nil {
		err = cerr
	}
	rep, cerr := r.closePeer()
	if err == nil {
		err = cerr
	}
	if err == nil {
		err = limited.Err()
	}
	r.release()
	return func(t *tally) { t.add(r, rep) }, err
}
