package pool

import (
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// serve is a peer of any manner.
func (u *uproar) serve(c *peer.H2Conn) {
	u.rest(5 * time.Millisecond)
	if u.n(25) == 0 && !u.tame.Load() {
		return // without its SETTINGS
	}
	limit := uint32(1 + u.n(6))
	if c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: limit}) != nil {
		return
	}
	for b := (bounds{last: 1<<31 - 1}); ; {
		f, err := c.Read()
		if err != nil || c.Respond(f) != nil {
			return
		}
		q := f.Request
		if q == nil || q.Stream > b.last {
			continue
		}
		if u.tame.Load() {
			u.execute(c, q, 0)
		} else if !u.handle(c, q, limit, &b) {
			return
		}
	}
}

// bounds are a connection's highest stream that was dealt with, and that may be.
type bounds struct{ top, last uint32 }

// handle deals with a request. It returns false if the connection is to be closed.
func (u *uproar) handle(c *peer.H2Conn, q *peer.H2Request, limit uint32, b *bounds) bool {
	how := u.n(40)
	if how < 5 || how > 6 {
		b.top = max(b.top, q.Stream)
	}
	switch how {
	case 0, 1, 2:
		c.Reset(q.Stream, http2.ErrCodeRefusedStream)
	case 3:
		u.note(q)
		c.Reset(q.Stream, http2.ErrCodeInternal)
	case 4: // no answer
		u.note(q)
	case 5, 6: // later streams may have been executed
		b.last = max(b.top, q.Stream-1)
		c.GoAway(b.last, http2.ErrCodeNo)
		u.closeLater(c)
		if q.Stream <= b.last {
			u.execute(c, q, 5*time.Millisecond)
		}
	case 7:
		c.GoAway(1<<31-1, http2.ErrCodeNo)
		u.execute(c, q, 5*time.Millisecond)
		u.closeLater(c)
	case 8:
		c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		time.AfterFunc(time.Duration(u.n(int(2*time.Second))), func() {
			c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: limit})
		})
		u.execute(c, q, 5*time.Millisecond)
	case 9:
		u.note(q)
		return false
	case 10:
		u.note(q)
		c.Close(peer.RST)
		return false
	default:
		u.execute(c, q, 5*time.Millisecond)
	}
	return true
}

func (u *uproar) closeLater(c *peer.H2Conn) {
	time.AfterFunc(time.Duration(u.n(int(50*time.Millisecond))), func() { c.Close(peer.FIN) })
}

func (u *uproar) note(q *peer.H2Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.execs[q.Field("x-request-id")]++
}

// execute runs a request, and answers it within most.
func (u *uproar) execute(c *peer.H2Conn, q *peer.H2Request, most time.Duration) {
	u.note(q)
	body, whole := u.n(2) == 0, u.n(20) > 0
	answer := func() {
		c.Headers(q.Stream, !body, ":status", "200")
		if body {
			c.Data(q.Stream, whole, []byte("body"))
		}
	}
	if most == 0 {
		body = false
		answer()
		return
	}
	time.AfterFunc(time.Duration(u.n(int(most))), answer)
}

const bodySize = 40 << 10

// watchedBodies are the bodies of one request, each to be closed once and not read after.
type watchedBodies struct {
	mu  sync.Mutex
	all []*watchedBody
}

type watchedBody struct {
	left, closed atomic.Int64
	late         atomic.Bool
}

func (w *watchedBodies) add() *watchedBody {
	b := &watchedBody{}
	b.left.Store(bodySize)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, b)
	return b
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.closed.Load() > 0 {
		b.late.Store(true)
	}
	n := min(int64(len(p)), b.left.Load(), 10<<10)
	if b.left.Add(-n); n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

func (b *watchedBody) Close() error {
	b.closed.Add(1)
	return nil
}

func (w *watchedBodies) wantClosed(t *testing.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, b := range w.all {
		if n := b.closed.Load(); n != 1 || b.late.Load() {
			t.Errorf("body %d of %d: closed %d times, read afterwards: %v", i+1, len(w.all), n, b.late.Load())
		}
	}
}
