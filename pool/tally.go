package pool

import (
	"slices"
	"time"
)

// plenty is more requests than anybody has: what a dial that finds out the protocol carries, say.
// A thousand times as many are an int still, also where that has 32 bits.
const plenty = 1 << 20

// A tally is what a host has for requests to come, counted in requests: a connection of
// HTTP/1 carries one at a time, one of HTTP/2 as many as its peer takes.
type tally struct {
	each   int // requests that a new connection carries
	coming int // that the dials under way are to carry
	open   int // that the open connections carry
	ready  int // of these, those on connections whose handshake is over
	room   int // of open, without what is about to leave the pool
	free   int // of room, what is free
	// unproven are the unused connections that are so young that nobody knows whether the peer lets
	// them live: see pace.go.
	unproven int
	next     time.Time // when the first of those that count leaves, or needs a successor
}

func (t *tally) by(at time.Time) {
	if t.next.IsZero() || at.Before(t.next) {
		t.next = at
	}
}

// newConnCarriesLocked is how many requests a connection that is dialled now will carry. Where
// the first dial is to find out the protocol, it carries all.
func (h *host) newConnCarriesLocked() int {
	switch {
	case h.proto == protocolHTTP1 || !h.speaks.http2:
		return 1
	case h.proto == protocolUnknown && h.speaks.http1:
		return plenty
	}
	return h.eachLocked()
}

// tallyLocked counts. On the way it finds the connections that need a successor, and cuts
// dials that take too long.
func (h *host) tallyLocked(now time.Time) tally {
	t := tally{each: max(h.newConnCarriesLocked(), 1)}
	lead := h.leadLocked(t.each)
	for c := range h.conns {
		switch {
		case c.state == connDialing:
			h.tallyDialLocked(&t, c, now)
		case c.leaving != "" || c.state == connWitness || c.epoch != h.epoch || c.peerClosed.Load():
		default:
			h.tallyConnLocked(&t, c, lead, now)
		}
	}
	return t
}

func (h *host) tallyDialLocked(t *tally, c *conn, now time.Time) {
	if c.cut {
		return
	}
	if c.ahead {
		if age(now, c.dialAt) >= aheadGrace && h.wantedDialsLocked() > h.queue.len() {
			h.cutLocked(c)
			return
		}
		t.by(now.Add(max(aheadGrace-age(now, c.dialAt), keepDelay)))
	}
	switch {
	case c.epoch != h.epoch: // it isn't kept
	case c.only1:
		t.coming++
	default:
		t.coming = min(t.coming+t.each, plenty)
	}
}

func (h *host) tallyConnLocked(t *tally, c *conn, lead time.Duration, now time.Time) {
	h.tallyUnusedLocked(t, c, now)
	room := c.roomLocked(t.each)
	t.open += room
	if c.h2 == nil || c.told && c.limit > 0 {
		t.ready += room
	}
	stays := c.staysLocked(lead, now)
	if stays <= 0 {
		h.renewLocked(c, now)
		return
	}
	if stays < forever {
		t.by(now.Add(stays))
	}
	t.room += room
	switch {
	case c.state == connInUse && (c.h2 == nil || c.suspect):
	case c.h2 != nil:
		t.free += max(room-c.streams, 0)
	default:
		t.free += room
	}
}

// roomLocked is how many requests c carries at a time; each, before its peer has said so, and
// while it takes none: nobody who does that wants more connections.
func (c *conn) roomLocked(each int) int {
	if c.h2 == nil {
		return 1
	}
	room := min(c.limit, plenty)
	if !c.told || c.limit == 0 {
		room = each
	}
	if most := c.h.cfg.MaxRequestsPerConn; most > 0 {
		room = min(room, c.streams+max(most-c.uses, 0))
	}
	return room
}

// warmLackLocked is how many requests' worth of connections Warm still waits for.
func (h *host) warmLackLocked(t *tally) int {
	lack := 0
	for _, w := range h.keeper.warmers {
		lack = max(lack, w.wants(h, t)-t.open-t.coming)
	}
	return lack
}

// lackLocked is how many requests' worth of connections MinIdlePerHost lacks: at once, as far
// as those in use can't make up for it, and the rest if it lasts.
func (h *host) lackLocked(t *tally, now time.Time) int {
	k, least := &h.keeper, h.cfg.MinIdlePerHost
	lack := least - t.free - (t.coming - h.queue.len())
	if least == 0 || lack <= 0 || age(now, h.usedAt) >= keepFor {
		k.lackSince = time.Time{}
		return 0
	}
	if k.lackSince.IsZero() {
		k.lack, k.lackSince = lack, now
	}
	k.lack = min(k.lack, lack)
	sure := least - t.room - t.coming // also when all that is in use has come back
	if since := now.Sub(k.lackSince); since < keepDelay {
		t.by(k.lackSince.Add(keepDelay))
		return max(sure, 0)
	}
	k.lackSince = time.Time{}
	return max(sure, k.lack)
}

// makeWayLocked takes idle connections that are about to go, for the caller to retire, if
// the limit leaves no room for their successors: a few at a time.
func (h *host) makeWayLocked(t *tally, lack int, now time.Time) (early []*conn) {
	if lack <= 0 || h.canDialLocked() || h.dialing > 0 || !h.bearsLocked(t, now) {
		return nil
	}
	lead := h.leadLocked(t.each)
	few := max(h.cfg.MinIdlePerHost/t.each/8, 1)
	for _, c := range slices.Clone(h.idle) { // the one that has been idle longest first
		if len(early) == few {
			break
		}
		if c.leaving == "" && c.staysLocked(lead, now) <= 0 {
			h.removeIdleLocked(c)
			h.leaveLocked(c, c.fateLocked(now))
			early = append(early, c)
		}
	}
	return early
}
