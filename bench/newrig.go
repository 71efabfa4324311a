package bench

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"example.com/connwise/internal/peer"
)

// newRig starts a server and a client for it, to make at most limit calls.
func (l *lab) newRig(w row, c Client, limit int64) (*rig, error) {
	s := w.scenario
	f := s.faults(l.plan)
	r := &rig{
		plan:        l.plan,
		proto:       w.proto,
		size:        w.size,
		urls:        []*url.URL{l.target},
		callers:     s.callers(l.plan),
		upload:      postBody,
		idleTimeout: f.idle,
		callTimeout: s.limit,
		length:      l.length(w) / time.Duration(l.Rounds),
		limit:       min(limit, peer.MostIDs),
		load:        l.loadOf(s),
		latency:     newLatencies(),
		timed:       s.timed,
		traced:      s.traced || l.loadOf(s).open(),
	}
	if f.checked() {
		r.check(f)
	}
	if s.warm != nil {
		if r.ready = s.warm(l.plan); l.MaxConns > 0 {
			r.ready = min(r.ready, l.MaxConns)
		}
	}
	setup := r.setup(s)
	if s.room != nil {
		r.limitRoom(s.room(l.plan), &setup, &f)
	}
	if l.target != nil {
		r.callTimeout = l.CallTimeout
	}
	if l.child != nil {
		if err := r.listen(l.child, w, f); err != nil {
			return nil, err
		}
		setup.Roots, setup.dials = r.roots(l.child), r.dials
	}
	if s.names != nil {
		if err := r.name(s.names); err != nil {
			return nil, err
		}
		setup.Resolver = r.names.resolver()
	}
	setup.CallTimeout = r.callTimeout
	r.build = func() (any, error) { return c.build(setup) }
	var err error
	if r.client, err = r.newClient(); err != nil {
		_, _ = r.closePeer() // it has nothing to tell
	}
	return r, err
}

// setup is what a client may know before the server is there.
func (r *rig) setup(s scenario) Setup {
	p := r.plan
	callers := r.callers
	if r.load.open() {
		callers = mostOpen
	}
	if s.holds {
		callers += r.size
	}
	return Setup{
		Proto: r.proto.name, Callers: callers, Size: r.size, IdleTimeout: r.idleTimeout, Target: p.target != nil,
		MaxConns: p.MaxConns, MaxWait: p.MaxWait, Ready: r.ready,
	}
}

// listen starts the round's server, and what stands in front of it.
func (r *rig) listen(c *peer.Child, w row, f faults) error {
	if w.proxy != nil {
		return r.listenBehind(c, w, f)
	}
	var err error
	if r.peer, err = listen(c, r.proto, f); err != nil {
		return err
	}
	r.urls = []*url.URL{r.proto.url(r.peer.addr())}
	return nil
}

// name calls the server by names.
func (r *rig) name(by func(*rig) (*names, error)) (err error) {
	if r.names, err = by(r); err == nil {
		r.urls = r.names.urls(r.urls[0])
	}
	return err
}

// closePeer closes the round's server and returns its final report; nil with a target.
func (r *rig) closePeer() (*peer.Report, error) {
	if r.peer == nil {
		return nil, nil
	}
	if r.names != nil {
		r.names.close()
	}
	ferr := r.closeFront()
	rep, violations, err := r.peer.close()
	if r.violations = int64(len(violations)); r.violations > 0 { // graver than what the peer did
		r.first = fmt.Errorf("bench: the peer saw %d violations of RFC 9113: %s", r.violations, violations[0])
	}
	return &rep, errors.Join(ferr, err)
}
