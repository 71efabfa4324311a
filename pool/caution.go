package pool

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// deafFor is how long a host is remembered that doesn't answer Expect: 100-continue.
const deafFor = 5 * time.Minute

// unheardDeaf is how often in a row it may leave the question without an answer until then:
// once it may have been busy.
const unheardDeaf = 2

// A caution is what a request that shouldn't be lost to a stale connection asks of one that
// has been idle for long (Config.ConfirmAfter). Over HTTP/2, where a PING can be answered,
// it asks nothing when a connection is taken. Over HTTP/1.1 only a request with content can
// be sent so that it asks for a sign of life itself (RFC 9110 section 10.1.1); others need a
// younger connection. A nil caution asks for nothing. Only its request's goroutine uses it.
type caution struct {
	after  time.Duration // of the host; zero: off
	asks   bool          // the request has content, and so can ask by Expect
	expect bool          // it may: the host answers that, as far as is known
	failed bool          // the host answered 417 to one; from then on it counts as deaf
	wary   bool          // a PING wasn't answered: an idle connection has to be young
	shun   []*conn       // HTTP/2: those that gave no sign of life
}

// newCaution returns nil for requests that a policy would send again by default.
func newCaution(req *http.Request) *caution {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return nil
	}
	if switchesProtocol(req.Header) {
		return nil
	}
	return &caution{asks: hasContent(req) && expectFits(req)}
}

// hasContent tells whether the request is sure to have content, as only then an expectation
// may be sent. A body of unknown length may turn out to be empty; with these methods most do,
// and internal/h1 reads from it to find out.
func hasContent(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody {
		return false
	}
	switch req.Method {
	case http.MethodDelete, "PROPFIND", "SEARCH":
		return req.ContentLength > 0 || slices.Equal(req.TransferEncoding, []string{"chunked"})
	}
	return true
}

// expectFits tells whether the caller has no other expectation than this one.
func expectFits(req *http.Request) bool {
	vv := req.Header["Expect"]
	return len(vv) == 0 || len(vv) == 1 && strings.EqualFold(strings.TrimSpace(vv[0]), "100-continue")
}

// of makes it the caution of a request to h, nil if that needs none.
func (ca *caution) of(h *host) *caution {
	if ca == nil {
		return nil
	}
	if ca.after = h.cfg.ConfirmAfter; ca.after == 0 {
		return nil
	}
	deaf, hasty := h.manners()
	ca.expect = ca.asks && !deaf
	if hasty {
		ca.after = 1
	}
	return ca
}

// minds tells whether a connection that was idle for that long has to be asked.
func (ca *caution) minds(idle time.Duration) bool {
	return ca != nil && ca.after > 0 && idle > ca.after
}

// takes tells whether an idle connection is young enough, or can be asked. h.mu is held.
func (ca *caution) takes(c *conn, now time.Time) bool {
	switch {
	case ca == nil:
		return true
	case c.h2 != nil && !ca.wary, c.h2 == nil && ca.expect:
		return !ca.shuns(c)
	}
	return age(now, c.idleSince) <= ca.after && !ca.shuns(c)
}

func (ca *caution) shuns(c *conn) bool { return ca != nil && slices.Contains(ca.shun, c) }

// tooOldLocked takes the oldest idle connection that the caution refuses, for the caller to
// retire: a dial is to take its place. Were it left alone, each such request would leave one
// idle connection more behind, and under MaxConnsPerHost there may be no room for the dial.
func (h *host) tooOldLocked(ws wish, now time.Time) *conn {
	if ws.caution == nil {
		return nil
	}
	for i, c := range h.idle {
		if ws.speaks(c) && !ws.caution.takes(c, now) {
			h.removeIdleAtLocked(i)
			h.holdLocked(c)
			return c
		}
	}
	return nil
}

// manners tells whether the host is known not to answer Expect: 100-continue, and whether it
// was seen closing connections that ConfirmAfter takes for safe.
func (h *host) manners() (deaf, hasty bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	return now.Before(h.deafUntil), now.Before(h.hastyUntil)
}

// hastySpan is for how long a host is asked on every connection when it has closed one that
// had been idle for no longer than ConfirmAfter: it restarts, most likely, and the next close may
// cross a request on any other.
const hastySpan = 5 * time.Second

// noteHasteLocked notes that the peer has closed a connection that had been idle for so long.
func (h *host) noteHasteLocked(idle time.Duration, now time.Time) {
	if idle <= h.cfg.ConfirmAfter {
		h.hastyUntil = now.Add(hastySpan)
	}
}

// noteDeaf notes that it didn't, so many times more, or that it did, if that is zero.
func (h *host) noteDeaf(times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unheard += times; times == 0 {
		h.unheard = 0
	}
	if h.unheard >= unheardDeaf {
		h.deafUntil, h.unheard = time.Now().Add(deafFor), 0
	}
}
