package oracle

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// An attempt is what the client's side knows of one. Over net/http it's the whole call, with
// what http.Transport sends again by itself.
type attempt struct {
	n       int
	traced  bool
	made    bool       // it isn't only that a retry was decided
	mu      sync.Mutex // guards uses while the attempt lasts
	uses    []use
	end     time.Time
	err     error         // nil: it was answered
	claims  bool          // the error says that the request was not processed
	resent  int           // how often pool sent it again
	ended   bool          // the request's context ended
	left    time.Duration // until its deadline
	touched bool          // its body, that can't be had again, was read from
}

// A use is a connection that an attempt had.
type use struct {
	way    way
	at     time.Time
	conn   *watched // nil: nobody counts its bytes
	before int64    // what it had accepted then
	moved  bool     // it accepted more before the attempt ended
}

// now is the attempt under way. It's the first one before the call begins.
func (c *call) now() *attempt {
	if len(c.attempts) == 0 {
		c.attempts = append(c.attempts, &attempt{traced: c.traced})
	}
	return c.attempts[len(c.attempts)-1]
}

// number is a retry.Transport's BeforeAttempt: it tells the peer the attempt's number.
func number(req *http.Request, retry int) error {
	a := callOf(req).now()
	a.made = true
	if a.n != retry {
		return fmt.Errorf("attempt %d is announced as number %d", a.n, retry)
	}
	req.Header.Set(headerAttempt, strconv.Itoa(retry))
	return nil
}

// decided is a retry.Transport's OnDecision: an attempt has failed, and maybe there is another.
func decided(d retry.Decision) {
	c := callOf(d.Request)
	a := c.now()
	a.failed(c, d.Attempt.Err)
	if d.Retry {
		c.attempts = append(c.attempts, &attempt{n: a.n + 1, traced: c.traced})
	}
}

func (a *attempt) gotConn(i httptrace.GotConnInfo) {
	u := use{at: time.Now(), way: wayOf(i.Conn), conn: watchedBelow(i.Conn)}
	if u.conn != nil {
		u.before = u.conn.accepted.Load()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uses = append(a.uses, u)
}

func (a *attempt) failed(c *call, err error) {
	a.made, a.end, a.err, a.touched = true, time.Now(), err, c.touched()
	a.left = c.left()
	a.ended = a.left <= 0
	if e, ok := errors.AsType[*pool.Error](err); ok {
		a.claims, a.resent = e.Phase.Unprocessed(), e.Resent
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.uses {
		u := &a.uses[i]
		u.moved = u.conn != nil && u.conn.accepted.Load() != u.before
	}
}
