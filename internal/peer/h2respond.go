package peer

import (
	"strconv"
	"time"

	"golang.org/x/net/http2"
)

// Respond sends what the protocol asks of a server that got f: acknowledgements,
// credit for DATA, a 100 for a request that waits for one, and what answers hold back
// for lack of window.
func (c *H2Conn) Respond(f *H2Frame) error {
	switch {
	case f.Type == http2.FrameSettings && !f.Ack():
		if err := c.SettingsAck(); err != nil {
			return err
		}
		return c.pump()
	case f.Type == http2.FramePing && !f.Ack():
		return c.pong(f)
	case f.Type == http2.FrameWindowUpdate:
		return c.pump()
	case f.Type == http2.FrameData:
		return c.refill(f)
	case f.Type == http2.FrameHeaders && !f.End():
		return c.goOn(f)
	}
	return nil
}

// goOn sends a 100 if the request with the header f waits for it.
func (c *H2Conn) goOn(f *H2Frame) error {
	for _, v := range f.Fields {
		if v.Name == "expect" && v.Value == "100-continue" {
			return c.Headers(f.StreamID, false, ":status", "100")
		}
	}
	return nil
}

// refill gives credit when half of a window is used.
func (c *H2Conn) refill(f *H2Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.streams
	if room := max(s.recvStart, h2Window); s.recv < room/2 {
		if err := c.creditLocked(0, room-s.recv); err != nil {
			return err
		}
	}
	if st := s.open[f.StreamID]; st != nil && !st.in && st.recv < s.recvStart/2 {
		return c.creditLocked(f.StreamID, s.recvStart-st.recv)
	}
	return nil
}

// Request returns the client's next request, when it is complete. It responds to the
// frames on the way.
func (c *H2Conn) Request() (*H2Request, error) {
	for {
		f, err := c.Read()
		if err != nil {
			return nil, err
		}
		if err := c.Respond(f); err != nil {
			return nil, err
		}
		if f.Request != nil {
			return f.Request, nil
		}
	}
}

// Execute counts q as executed, once however often it is called.
func (c *H2Conn) Execute(q *H2Request) {
	if q.executed {
		return
	}
	q.executed = true
	c.mu.Lock()
	c.streams.done = max(c.streams.done, q.Stream)
	c.mu.Unlock()
	c.srv.oracle.execute(q.ID)
	c.srv.oracle.body(&q.check, q.Field(":method") == "POST", c.srv.plan.Load().Upload)
	c.srv.book.executed(c)
}

// Answer executes q and answers it with a 200. What the client's windows don't allow
// to leave now is sent as Respond learns of more. A stream that was reset gets nothing.
func (c *H2Conn) Answer(q *H2Request) error {
	c.Execute(q)
	body := c.srv.body(q)
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.streams.open[q.Stream]
	if st == nil {
		return nil
	}
	head := q.Field(":method") == "HEAD" || len(body) == 0
	err := c.headersLocked(q.Stream, head, ":status", "200", "x-request-id", strconv.FormatUint(q.ID, 10),
		"content-type", "text/plain", "content-length", strconv.Itoa(len(body)))
	if err != nil || head {
		return err
	}
	st.rest = body
	return c.pumpStream(q.Stream, st)
}

// pump sends what the windows allow of the answers that wait for them.
func (c *H2Conn) pump() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, st := range c.streams.open {
		if err := c.pumpStream(id, st); err != nil {
			return err
		}
	}
	return nil
}

func (c *H2Conn) pumpStream(id uint32, st *h2Stream) error {
	for len(st.rest) > 0 {
		n := min(len(st.rest), h2Frame, c.streams.send, st.send)
		if n <= 0 {
			return nil
		}
		b := st.rest[:n]
		st.rest = st.rest[n:]
		if err := c.dataLocked(id, len(st.rest) == 0, b); err != nil {
			return err
		}
	}
	return nil
}

// pong answers a PING, unless that was one too many.
func (c *H2Conn) pong(f *H2Frame) error {
	p := c.srv.plan.Load().Ping
	c.mu.Lock()
	out := c.strikes.ping(p, time.Now())
	c.mu.Unlock()
	if out {
		return c.expel()
	}
	return c.Ping(true, [8]byte(f.Data))
}
