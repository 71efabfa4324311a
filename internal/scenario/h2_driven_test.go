package scenario

import (
	"testing"
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// An ask is a request at a peer whose test answers it, or does otherwise.
type ask struct {
	*peer.H2Conn
	q *peer.H2Request
}

// asked is where the requests at such a peer arrive.
type asked chan ask

// h2driven starts a peer that is driven by its test. It sends SETTINGS with ss.
func (r *rig) h2driven(ss ...http2.Setting) (*h2Peer, asked) {
	asks := make(asked, 1000)
	return r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
		if c.Settings(ss...) != nil {
			return
		}
		for q, err := c.Request(); err == nil; q, err = c.Request() {
			asks <- ask{c, q}
		}
	}}), asks
}

// next waits for a request.
func (a asked) next(t *testing.T) ask {
	t.Helper()
	select {
	case q := <-a:
		return q
	case <-time.After(patience):
		t.Fatal("no request has come")
		return ask{}
	}
}

// none checks that no request has come.
func (a asked) none(t *testing.T) {
	t.Helper()
	select {
	case q := <-a:
		t.Errorf("request %d came on connection %d, stream %d", q.q.ID, q.Num, q.q.Stream)
	default:
	}
}

// answer answers the request.
func (a ask) answer(t *testing.T) {
	t.Helper()
	if err := a.Answer(a.q); err != nil {
		t.Errorf("answering request %d on connection %d: %v", a.q.ID, a.Num, err)
	}
}

// nextOf waits for the request of a call that is under way.
func (a asked) nextOf(t *testing.T, call <-chan error) ask {
	t.Helper()
	select {
	case q := <-a:
		return q
	case err := <-call:
		t.Fatalf("the call ended before the peer had its request: %v", err)
		return ask{}
	}
}

// endOf waits for a call to end, for whose request the peer has done all that it will. The
// request must not come again.
func (a asked) endOf(t *testing.T, what string, call <-chan error) error {
	t.Helper()
	select {
	case err := <-call:
		return err
	case q := <-a:
		t.Fatalf("%s: request %d was sent again", what, q.q.ID)
		return nil
	}
}
