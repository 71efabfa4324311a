package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"example.com/connwise/internal/peer"
)

// hangLimit is how much longer than planned a round may take before its calls are
// cancelled and Run gives up.
const hangLimit = 30 * time.Second

// IsChild reports whether this process was started by Run to be the peer; main
// then has to call ChildMain and exit.
func IsChild() bool { return peer.IsChild() }

// ChildMain is the peer's process. It returns the exit code when stdin ends.
func ChildMain(stdin io.Reader, stdout, stderr io.Writer) int {
	return peer.ChildMain(stdin, stdout, stderr)
}

// Run runs what the options say and returns a row for each combination. It blocks
// for about Duration for each. When ctx ends it returns the rows that were
// complete and ctx's error; with a *UsageError nothing was run.
func Run(ctx context.Context, o Options) (Report, error) {
	p, err := o.plan()
	if err != nil {
		return Report{}, err
	}
	l, err := newLab(ctx, p)
	if err != nil {
		return Report{}, err
	}
	defer l.close()
	var rep Report
	for _, s := range p.scenarios {
		for _, q := range p.protos {
			rows, err := l.rows(ctx, s, q)
			rep.Results = append(rep.Results, rows...)
			if err != nil {
				return rep, err
			}
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

// rows runs one scenario over one protocol with all clients, in turns. When it
// fails none of its rows is complete.
func (l *lab) rows(ctx context.Context, s scenario, q proto) ([]Result, error) {
	tallies := make([]tally, len(l.Clients))
	for i := range tallies {
		tallies[i].latency = newHistogram()
	}
	for round := range l.Rounds {
		for i := range l.Clients {
			k := (i + round) % len(l.Clients) // who is first changes, too
			l.progress(s, q, l.Clients[k])
			if err := l.round(ctx, s, q, l.Clients[k], round, &tallies[k]); err != nil {
				return nil, err
			}
			l.done++
		}
	}
	rows := make([]Result, len(tallies))
	for i, c := range l.Clients {
		rows[i] = tallies[i].result(s.name, q.name, c.Name)
	}
	return rows, nil
}

func (l *lab) progress(s scenario, q proto, c Client) {
	if l.Progress == nil {
		return
	}
	total := len(l.scenarios) * len(l.protos) * l.Rounds * len(l.Clients)
	l.Progress(Step{Done: l.done, Total: total, Scenario: s.name, Proto: q.name, Client: c.Name})
}

// round runs one client once, against a server of its own, and adds to t.
func (l *lab) round(ctx context.Context, s scenario, q proto, c Client, n int, t *tally) (err error) {
	defer func() {
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx) // the failures that followed from it tell nothing
		case err != nil:
			err = fmt.Errorf("bench: %s %s %s: %w", s.name, q.name, c.Name, err)
		}
	}()
	r, err := l.newRig(s, q, c, l.share(n))
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.length+r.callTimeout+hangLimit)
	defer cancel()
	err = s.run(limited, r)
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
	if err == nil {
		t.add(r, rep)
	}
	return err
}

// newRig starts a server and a client for it, to make at most limit calls.
func (l *lab) newRig(s scenario, q proto, c Client, limit int64) (*rig, error) {
	f := s.faults(l.plan)
	r := &rig{
		plan:        l.plan,
		proto:       q,
		url:         l.target,
		callers:     s.callers(l.plan),
		idleTimeout: f.idle,
		length:      l.Duration / time.Duration(l.Rounds),
		limit:       limit,
		latency:     newHistogram(),
	}
	if s.warm != nil {
		if r.ready = s.warm(l.plan); l.MaxConns > 0 {
			r.ready = min(r.ready, l.MaxConns)
		}
	}
	setup := Setup{
		Proto: q.name, Callers: r.callers, IdleTimeout: f.idle, Target: l.target != nil,
		MaxConns: l.MaxConns, MaxWait: l.MaxWait, Ready: r.ready,
	}
	var err error
	if l.target != nil {
		r.callTimeout = l.CallTimeout
	}
	if l.child != nil {
		if r.peer, err = listen(l.child, q, f); err != nil {
			return nil, err
		}
		r.url = &url.URL{Scheme: "http", Host: r.peer.addr(), Path: "/"}
		if q.tls {
			r.url.Scheme = "https"
			setup.Roots = l.child.Roots()
		}
	}
	r.build = func() (http.RoundTripper, error) { return c.New(setup) }
	r.rt, err = r.newClient()
	return r, err
}

// closePeer closes the round's server and returns its final report; nil with a target.
func (r *rig) closePeer() (*peer.Report, error) {
	if r.peer == nil {
		return nil, nil
	}
	rep, violation, err := r.peer.close()
	if violation != nil {
		r.first = cmp.Or(r.first, violation)
	}
	return &rep, err
}
