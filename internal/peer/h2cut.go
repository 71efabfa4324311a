package peer

import (
	"strconv"
	"sync"

	"golang.org/x/net/http2"
)

// cut ends a request, whose frames have all come, as way says.
func (c *H2Conn) cut(q *H2Request, way H2Cut) error {
	if way.At != CutBefore {
		c.Execute(q)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams.open[q.Stream] == nil {
		return nil // the client has reset it
	}
	if way.At == CutHalf {
		if err := c.halfLocked(q.Stream); err != nil {
			return err
		}
	}
	if !way.GoAway || c.leave.begun {
		return c.resetLocked(q.Stream, way.Code)
	}
	return c.abandonLocked(q.Stream)
}

// halfLocked sends the head of an answer and half of its body.
func (c *H2Conn) halfLocked(stream uint32) error {
	body := c.srv.plan.Load().body
	err := c.headersLocked(stream, false, ":status", "200", "content-length", strconv.Itoa(len(body)))
	if err != nil || c.streams.send < len(body)/2 {
		return err
	}
	return c.dataLocked(stream, false, body[:len(body)/2])
}

// abandonLocked sends the GOAWAY of H2Cut. As the streams that it drops may be the last, it
// has to be sent before.
func (c *H2Conn) abandonLocked(stream uint32) error {
	last := c.streams.done
	c.leave.begun, c.leave.final, c.leave.admitted = true, true, last
	if err := c.goAwayLocked(last, http2.ErrCodeNo); err != nil {
		return err
	}
	for id := range c.streams.open {
		if id > last || id == stream {
			c.forget(id)
		}
	}
	return nil
}

// Limit has all connections in Serve, those to come too, take at most n streams at a time, and
// says so in SETTINGS.
func (s *H2Server) Limit(n int) {
	p := *s.plan.Load()
	p.MaxStreams = n
	s.plan.Store(&p)
	for _, c := range s.conns() {
		c.limit(n)
	}
}

func (c *H2Conn) limit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun || c.leave.gone {
		return // begin has it from the plan
	}
	c.most = n
	_ = c.settingsLocked([]http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: uint32(n)}})
	_ = c.bw.Flush() // a failure shows in the reads
}

// h2Waves keep the count for H2Waves. The zero h2Waves are ready.
type h2Waves struct {
	mu      sync.Mutex
	came    int            // for the first time
	refused map[uint64]int // how often, by id; bounded by maxCuts
}

// refuse reports whether a stream with this id is to be refused; over says that there are too
// many, for which Most counts, too.
func (w *h2Waves) refuse(p H2Waves, id uint64, over bool) bool {
	if p.Every <= 0 {
		return over
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, again := w.refused[id]
	if !again {
		w.came++
	}
	if !over && w.came%p.Every < p.Every-p.Length || before >= p.Most || len(w.refused) >= maxCuts {
		return false
	}
	if w.refused == nil {
		w.refused = make(map[uint64]int)
	}
	w.refused[id]++
	return true
}
