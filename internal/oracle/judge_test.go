package oracle

import "errors"

// A proof is a reason to be sure that a request was not processed (RFC 9113 section 8.7, and
// what no byte left for).
type proof uint8

const (
	proofNone    proof = iota
	proofNoConn        // there was no connection
	proofNoByte        // no connection accepted a byte of it
	proofNoHead        // HTTP/2: no stream was opened for it
	proofGoAway        // its stream is above a GOAWAY's last id
	proofRefused       // RST_STREAM(REFUSED_STREAM)
	proofs
)

var proofNames = [proofs]string{"none", "no connection", "no byte", "no stream", "above GOAWAY", "refused"}

// prove tells how the peers' notes, and counts of bytes, prove that nothing of an attempt was
// processed. sure says that the client must have learnt it.
func (r *run) prove(id int, a *attempt) (p proof, sure bool) {
	if !a.traced {
		return proofNone, false // it isn't known what was its doing
	}
	sure = true
	heard := make(map[way]bool) // where something has arrived
	for _, v := range r.arrivals(id, a.n) {
		q, cut := v.unprocessed()
		if q == proofNone {
			return proofNone, false
		}
		heard[v.on.way] = true
		p = q
		// What the peer says just before a reset may never be read; and who had no time left
		// may not have waited for it.
		sure = sure && !a.ended && (cut.IsZero() || a.end.Before(cut))
	}
	for i := range a.uses {
		u := &a.uses[i]
		if heard[u.way] {
			continue
		}
		q := r.unsent(u)
		if q == proofNone {
			return proofNone, false
		}
		p = max(p, q)
	}
	if p == proofNone && len(a.uses) == 0 {
		return proofNoConn, true
	}
	return p, sure
}

func (r *run) arrivals(id, attempt int) []*arrival {
	var of []*arrival
	for _, v := range r.notes.calls[id].arrivals {
		if v.attempt == attempt {
			of = append(of, v)
		}
	}
	return of
}

// unsent tells how it's known that nothing of a request was sent on a connection from which the
// peer has no arrival of it.
func (r *run) unsent(u *use) proof {
	l := r.notes.linkAt(u.way, u.at)
	switch {
	case !r.proto.h2 && u.conn != nil:
		if !u.moved {
			return proofNoByte
		}
	case !r.proto.h2:
		if l.nothingMore() {
			return proofNoByte
		}
	case l.nothingMore():
		return proofNoHead
	case u.conn != nil && !r.proto.tls:
		heads := 0
		if l != nil {
			heads = l.heads
		}
		if f := &u.conn.frames; int(f.heads.Load()) == heads && !f.torn.Load() {
			return proofNoHead
		}
	}
	return proofNone
}

// An excuse is why a request that was provably not processed was not sent again.
type excuse string

const (
	excuseNone    excuse = ""
	excuseTries   excuse = "out of retries"
	excuseTime    excuse = "its time was over"
	excuseBody    excuse = "its body was read"
	excuseRetried excuse = "retried"
)

// excused tells why no attempt followed the call's attempt number n.
func (c *call) excused(n int) excuse {
	resent := 0
	for _, a := range c.attempts[:n+1] {
		resent += a.resent
	}
	a := c.attempts[n]
	switch {
	case n+1 < len(c.attempts) && c.attempts[n+1].made:
		return excuseRetried
	case a.ended || a.left <= longestWait(n) || n+1 < len(c.attempts) && c.late:
		return excuseTime
	case c.kind.once() && a.touched:
		return excuseBody
	case n+resent >= maxRetries:
		return excuseTries
	}
	return excuseNone
}

// A tally is what came of a run.
type tally struct {
	requests, answered, otherwise, failed int

	twice     int // executed more than once, without the caller's consent
	again     int // sent again after it was executed, without consent
	lost      int // answered, but not executed
	wrong     int // answers to other requests
	spoilt    int // bodies that were not what was sent
	hung      int // took all of its patience
	claimed   int // attempts whose error says that they were not processed
	falsely   int // and were
	whole     int // calls whose error says so
	lies      int // and were executed
	unsaid    int // calls whose attempts all say so, and whose error doesn't
	provable  [proofs]int
	unheard   int // of others the proof may not have reached the client
	unclaimed int // provable, and the error doesn't say so
	unretried int // provable, and not sent again without an excuse
	avoidable int // failed calls of which every attempt is provable, and that had time and a body left
	excuses   map[excuse]int
	examples  []string
}

// An unprocessed error says whether the request was processed.
type unprocessed interface {
	error
	Unprocessed() bool
}

func (r *run) judge() *tally {
	t := &tally{excuses: make(map[excuse]int)}
	for _, c := range r.calls[1:] {
		r.judgeCall(t, c)
	}
	return t
}

func (r *run) judgeCall(t *tally, c *call) {
	n := &r.notes.calls[c.id]
	t.requests++
	dear := !c.safe() && !c.opted
	r.add(t, &t.twice, dear && n.executed > 1, c, nil, "executed twice")
	r.add(t, &t.again, dear && n.again(), c, nil, "sent again after it was executed")
	r.add(t, &t.lost, c.err == nil && c.status == 200 && n.executed == 0, c, nil, "answered, not executed")
	r.add(t, &t.wrong, c.wrong, c, nil, "got another request's answer")
	r.add(t, &t.spoilt, n.spoilt, c, nil, "arrived with another body")
	switch {
	case c.err != nil:
		t.failed++
	case c.status == 200:
		t.answered++
	default:
		t.otherwise++
	}
	claims := false
	if e, ok := errors.AsType[unprocessed](c.err); ok {
		claims = e.Unprocessed()
	}
	r.add(t, &t.whole, claims, c, nil, "")
	r.add(t, &t.lies, claims && n.executed > 0, c, nil, "its error says that it was not processed")
	all := c.err != nil && !c.begun
	said := all
	e := excuseNone // of the last
	for _, a := range c.attempts {
		if a.made {
			all = r.judgeAttempt(t, c, a) && all
			e = c.excused(a.n)
			said = said && a.claims
		}
	}
	r.add(t, &t.unsaid, said && !claims, c, nil, "its error doesn't say that it was not processed")
	r.add(t, &t.avoidable, all && e != excuseTime && e != excuseBody, c, nil, "")
}

// judgeAttempt reports whether the attempt has failed and was provably not processed.
func (r *run) judgeAttempt(t *tally, c *call, a *attempt) bool {
	if a.err == nil {
		return false
	}
	r.add(t, &t.hung, a.ended && !c.short, c, a, "hung")
	ran := false
	for _, v := range r.arrivals(c.id, a.n) {
		ran = ran || c.traced && v.executed
	}
	r.add(t, &t.claimed, a.claims, c, a, "")
	r.add(t, &t.falsely, a.claims && ran, c, a, "claimed, and executed")
	p, sure := r.prove(c.id, a)
	if p == proofNone {
		return false
	}
	if !sure {
		t.unheard++
		return true
	}
	t.provable[p]++
	r.add(t, &t.unclaimed, !a.claims, c, a, "not claimed: "+proofNames[p])
	e := c.excused(a.n)
	t.excuses[e]++
	r.add(t, &t.unretried, e == excuseNone, c, a, "not retried: "+proofNames[p])
	return true
}
