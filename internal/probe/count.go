package probe

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// maxCounted bounds what is read while requests are counted, in bytes.
const maxCounted = 64 << 20

// count sends requests in sequence on s, whose first answer was a, until the peer wants no
// more, notes how it ended the connection, and closes s.
func (m *measurement) count(ctx context.Context, s session, a answer) {
	defer s.Close()
	r := &m.Requests
	r.Served = 1
	begun, read := time.Now(), int64(0)
	for a.last == "" {
		if read += a.size; m.stop(a, read, begun) {
			return
		}
		if !pause(ctx, pace) {
			r.By = "interrupted"
			return
		}
		var err error
		if a, err = s.ask(ctx); err != nil {
			m.broken(ctx, s, err)
			return
		}
		r.Served++
		m.p.note(func(pr *Progress) { pr.Requests++ })
	}
	r.Limited, r.By = true, a.last
	m.p.note(func(pr *Progress) { pr.Known = append(pr.Known, fmt.Sprintf("%s %d requests", m.Proto, r.Served)) })
	m.settle(s.watch(ctx, m.p.linger))
}

// stop tells whether to send no more, and notes why.
func (m *measurement) stop(a answer, read int64, begun time.Time) bool {
	r := &m.Requests
	switch {
	case a.status == http.StatusTooManyRequests || a.status >= 500:
		r.By = fmt.Sprintf("status %d", a.status)
	case m.p.opt.Requests == 0:
		r.By = "not counted"
	case r.Served >= m.p.opt.Requests:
		r.By = "all sent"
	case time.Since(begun) >= m.p.opt.Max:
		r.By = "time is up"
	case read >= maxCounted:
		r.By = fmt.Sprintf("%d MiB read", maxCounted>>20)
	default:
		return false
	}
	return true
}

// broken notes the end of a connection that came in place of an answer.
func (m *measurement) broken(ctx context.Context, s session, err error) {
	r := &m.Requests
	end, ok := isEnd(err)
	switch {
	case ok:
		r.Limited, r.By = true, end.words
		if h2, ok := s.(*h2session); ok {
			m.settle(h2.watch(ctx, 0))
		}
	case ctx.Err() != nil:
		r.By = "interrupted"
	default:
		r.By = m.p.mask.text(err.Error())
	}
}

// settle notes what came behind the last answer.
func (m *measurement) settle(e ending) {
	r := &m.Requests
	r.Ending, r.GoAways = e.how(), e.goAways
	if !e.ended() {
		r.Ending = wordLingers
	}
	if m.Proto == H2 || m.Proto == H2C {
		r.GoAway = goAwayStyle(e.goAways)
	}
}
