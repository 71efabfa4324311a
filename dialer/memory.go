package dialer

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Memory is what dials have found out about addresses. The dials that share one try an
// address last for a while that has failed, so that a dead address of a name costs its time
// once, and not each dial. It never leaves an address out, and where all of a name's have
// failed their order stays as it was.
//
// An address has failed if it didn't connect, or not while it had its turn and another one
// did then; if TLS failed on it; or if a user says so by Failed. It is forgotten when it has
// worked, at the latest some minutes after its last failure. Errors of this host (no route to
// the address's family, no descriptor or port left) are nobody's failure.
//
// The zero Memory is empty and ready. A nil one remembers nothing. It may be used by several
// goroutines, must not be copied, and is bounded: 1024 addresses, about 200 kilobytes.
type Memory struct {
	n atomic.Int32 // len(notes), as most of the time there are none

	mu    sync.Mutex // guards notes; held for a look or a change only
	notes map[string]note
}

// A trouble is what went wrong with an address. What works at one point says nothing of what
// comes after: a success forgets troubles up to its own.
type trouble uint8

const (
	troubleConnect trouble = iota + 1 // it didn't connect
	troubleOpen                       // it connected, and the proxy or TLS stage failed
	troubleUse                        // it was open, and ended before it was of use
)

const (
	failedSpan = 30 * time.Second // for which an address that failed is tried last
	usedSpan   = 5 * time.Second  // the same, after troubleUse: it may have been the request
	maxSpan    = 4 * time.Minute  // each failure after a span doubles it up to here
	// probeSpan is for how long one dial alone tries an address again whose span is over: of
	// a burst of dials, one is to find out whether it is still dead.
	probeSpan = 2 * time.Second
	maxNotes  = 1024
)

// A note is about one address that has failed.
type note struct {
	what  trouble
	span  time.Duration
	due   time.Time // the end of its span
	until time.Time // when it is tried in its place again: due, or later if somebody tries it now
}

// again is the note after one more failure, of which the zero note is the first. While the
// span lasts an address is tried if there is no other, and that it fails says nothing new.
func (n note) again(what trouble, now time.Time) note {
	switch {
	case n.span == 0:
		n.span = failedSpan
		if what == troubleUse {
			n.span = usedSpan
		}
	case !now.Before(n.due):
		n.span = min(2*n.span, maxSpan)
	}
	n.what = max(n.what, what)
	n.due = now.Add(n.span)
	n.until = n.due
	return n
}

// old tells whether the note is so old that another failure would be a first one.
func (n note) old(now time.Time) bool { return !now.Before(n.due.Add(n.span)) }

// Failed says that a connection to addr, an "ip:port", was open and has ended before it was of
// any use: its peer closed or reset it without an answer. addr is tried last for 5 s, and for
// longer if it goes on.
func (m *Memory) Failed(addr string) { m.failed(addr, troubleUse) }

// Worked says that a connection to addr was of use. What was held against it is forgotten.
func (m *Memory) Worked(addr string) { m.worked(addr, troubleUse) }

func (m *Memory) failed(addr string, what trouble) {
	if m == nil || addr == "" {
		return
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	n, known := m.notes[addr]
	if known && n.old(now) {
		n = note{}
	}
	if !known && len(m.notes) >= maxNotes {
		m.makeRoomLocked(now)
	}
	if m.notes == nil {
		m.notes = make(map[string]note)
	}
	m.notes[addr] = n.again(what, now)
	m.n.Store(int32(len(m.notes)))
}

// makeRoomLocked drops what is old, and if nothing is, the note that ends first.
func (m *Memory) makeRoomLocked(now time.Time) {
	first := ""
	for addr, n := range m.notes {
		if n.old(now) {
			delete(m.notes, addr)
		} else if first == "" || n.due.Before(m.notes[first].due) {
			first = addr
		}
	}
	if len(m.notes) >= maxNotes {
		delete(m.notes, first)
	}
}

func (m *Memory) worked(addr string, upTo trouble) {
	if m.empty() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.notes[addr]; ok && n.what <= upTo {
		delete(m.notes, addr)
		m.n.Store(int32(len(m.notes)))
	}
}

func (m *Memory) empty() bool { return m == nil || m.n.Load() == 0 }

// forget is for addresses of which all had failed and one works now: it wasn't they.
func (m *Memory) forget(addrs []string) {
	for _, addr := range addrs {
		m.worked(addr, troubleUse)
	}
}

// arrange puts addrs in the order in which they should be tried: those to be avoided behind
// the others, and those that have failed behind these. all says that they all have.
func (m *Memory) arrange(addrs, avoid []string) (arranged []string, all bool) {
	if len(addrs) < 2 || m.empty() && len(avoid) == 0 {
		return addrs, false
	}
	rank := make(map[string]int, len(addrs))
	all = true
	for i, failed := range m.recall(addrs) {
		if failed {
			rank[addrs[i]] = 2
		}
		all = all && failed
	}
	for _, addr := range avoid {
		rank[addr]++
	}
	slices.SortStableFunc(addrs, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	return addrs, all
}

// recall tells of each address whether it has failed lately. One whose span is over has not,
// to the first who asks.
func (m *Memory) recall(addrs []string) []bool {
	failed := make([]bool, len(addrs))
	if m.empty() {
		return failed
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, addr := range addrs {
		n, ok := m.notes[addr]
		switch {
		case !ok:
		case now.Before(n.until):
			failed[i] = true
		default:
			n.until = now.Add(probeSpan)
			m.notes[addr] = n
		}
	}
	return failed
}
