package oracle

import (
	"net"
	"sync"
	"time"
)

// The notes are what the peers of one run know. They are complete once the peers have ended.
type notes struct {
	calls []callNotes // by id, from 1

	mu    sync.Mutex
	links map[way][]*link // in the order of acceptance
	fates map[fate]int
}

// callNotes are about one request, however often it came.
type callNotes struct {
	mu       sync.Mutex
	arrivals []*arrival
	executed int
	spoilt   bool // it came with another body than was sent
}

func newNotes(n int) *notes {
	return &notes{calls: make([]callNotes, n+1), links: make(map[way][]*link), fates: make(map[fate]int)}
}

// An arrival is a request of which at least the head has come. But for execute, the goroutine
// that serves it changes it, or whoever holds its connection's lock.
type arrival struct {
	of      *callNotes
	on      *link
	attempt int
	stream  uint32 // zero with HTTP/1.1

	fates    []fate
	executed bool
	told     bool // something was said of it before any proof: an interim answer, or another reset
	refused  bool // by RST_STREAM(REFUSED_STREAM), and nothing was said before
}

// arrive notes a request. Ids that no request has are dropped, as is what fails to be one.
func (n *notes) arrive(id, attempt int, on *link, stream uint32) *arrival {
	if id < 1 || id >= len(n.calls) {
		id = 0
	}
	of := &n.calls[id]
	a := &arrival{of: of, on: on, attempt: attempt, stream: stream}
	of.mu.Lock()
	defer of.mu.Unlock()
	of.arrivals = append(of.arrivals, a)
	return a
}

func (a *arrival) execute() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.executed = true
	a.of.executed++
}

func (a *arrival) spoil() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	a.of.spoilt = true
}

// unprocessed tells which proof there is that this arrival was not processed, and since when
// the client may not learn of it any more, because the connection was cut.
func (a *arrival) unprocessed() (p proof, cut time.Time) {
	l := a.on
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.executed, a.told:
		return proofNone, time.Time{}
	case a.refused:
		return proofRefused, l.cut
	case l.away && a.stream > l.last:
		return proofGoAway, l.cut
	}
	return proofNone, time.Time{}
}

// again tells whether the request was sent once more after it had been executed. What arrives
// above a GOAWAY may have been sent long before.
func (n *callNotes) again() bool {
	executed := false
	for _, a := range n.arrivals {
		if p, _ := a.unprocessed(); executed && p != proofGoAway {
			return true
		}
		executed = executed || a.executed
	}
	return false
}

// A way tells connections apart that are there at the same time: by the client's port and the
// peer's. A client may use a port for several peers.
type way struct{ from, to int }

// wayOf is that of a connection, as the client sees it.
func wayOf(c net.Conn) way { return way{portOf(c.LocalAddr()), portOf(c.RemoteAddr())} }

func (w way) back() way { return way{w.to, w.from} }

func portOf(a net.Addr) int { return a.(*net.TCPAddr).Port }

// A link is a connection as the peer sees it.
type link struct {
	way
	begun time.Time

	mu    sync.Mutex
	until time.Time // it was read until the client's end: all that the client had sent was seen
	cut   time.Time // the peer closed it before, and what it sent last may be lost
	loose bool      // bytes came that belong to no arrival
	heads int       // HTTP/2: streams that have arrived
	away  bool      // a GOAWAY with the true last id was sent
	last  uint32    // that id
}

func (n *notes) open(w way) *link {
	l := &link{way: w, begun: time.Now()}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[w] = append(n.links[w], l)
	return l
}

// linkAt finds the connection that was used at a time; nil if there is none, or none for sure: the
// client may use a port again, and the peer is a little late in noting things.
func (n *notes) linkAt(w way, at time.Time) (found *link) {
	const haze = 20 * time.Millisecond
	for _, l := range n.links[w] {
		gone := !l.until.IsZero() && l.until.Before(at) || !l.cut.IsZero() && l.cut.Before(at.Add(-haze))
		switch {
		case gone, l.begun.After(at.Add(haze)):
		case found != nil:
			return nil
		default:
			found = l
		}
	}
	return found
}

func (l *link) noteEnd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut.IsZero() && l.until.IsZero() {
		l.until = time.Now()
	}
}

func (l *link) noteCut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut.IsZero() && l.until.IsZero() {
		l.cut = time.Now()
	}
}

func (l *link) noteLoose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loose = true
}

// nothingMore tells whether the client is known to have sent nothing but what has arrived.
func (l *link) nothingMore() bool {
	return l != nil && !l.until.IsZero() && !l.loose
}

// meet notes a request's fate, or a part of it.
func (n *notes) meet(a *arrival, f fate) {
	a.fates = append(a.fates, f)
	n.count(f)
}

// count counts a fate.
func (n *notes) count(f fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fates[f]++
}
