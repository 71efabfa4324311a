package peer

import (
	"errors"
	"net"
	"time"

	"golang.org/x/net/http2"
)

// lingerTime bounds how long a connection is read behind the server's FIN.
const lingerTime = time.Second

// An h2Leave is how far a connection is on its way out. H2Conn.mu guards it.
type h2Leave struct {
	admitted  uint32 // the highest stream that is served
	streams   int    // so many were
	begun     bool   // the first GOAWAY, or the only one, is out
	final     bool   // no stream is admitted any more
	gone      bool   // the sending side is closed
	now       bool   // accepted streams aren't waited for
	confirmed bool   // the client has answered the PING behind a GOAWAY
	style     Style  // of the close
}

// Serve answers requests as the server's H2Faults say, until the connection ends.
func (c *H2Conn) Serve() {
	c.mu.Lock()
	c.serving, c.lazy = true, true
	c.mu.Unlock()
	if c.silent(0) || c.begin() != nil {
		return
	}
	for answered := 0; ; {
		f, err := c.Read()
		if err != nil {
			if !c.timedOut(err) {
				return
			}
			continue
		}
		if err := c.serveFrame(f); err != nil {
			return
		}
		if f.Request != nil {
			answered++
		}
		if c.silent(answered) {
			return
		}
	}
}

// begin sends the first SETTINGS, now or later. Nothing may be sent before them (RFC 9113
// section 3.4), so nothing is read before them either.
func (c *H2Conn) begin() error {
	if !c.srv.pause(c.srv.plan.Load().SettingsDelay) {
		return errClosed
	}
	c.mu.Lock() // Limit changes the plan, and then the connections that have begun
	defer c.mu.Unlock()
	p := c.srv.plan.Load()
	window := p.Window
	if window <= 0 {
		window = 1 << 20
	}
	ss := []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: uint32(window)}}
	if p.MaxStreams > 0 {
		ss = append(ss, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(p.MaxStreams)})
	}
	c.begun, c.most = true, p.MaxStreams
	if err := c.settingsLocked(ss); err != nil || window <= h2Window {
		return err
	}
	return c.creditLocked(0, window-h2Window)
}

// later runs f after d, unless the server is closed before, and sends what f wrote.
// Only the connection's own goroutine may call it.
func (c *H2Conn) later(d time.Duration, f func()) {
	c.srv.wg.Go(func() {
		if c.srv.pause(d) {
			f()
			_ = c.flush()
		}
	})
}

// silent makes the connection silent when its time has come, and reports that it has
// been until the client closed it.
func (c *H2Conn) silent(answered int) bool {
	p := c.srv.plan.Load()
	if c.Num >= p.SilentConns || answered < p.SilentAfter {
		return false
	}
	_ = c.flush()
	c.Drain()
	return true
}

// serveFrame does what f asks for.
func (c *H2Conn) serveFrame(f *H2Frame) error {
	c.mu.Lock()
	gone := c.leave.gone
	c.mu.Unlock()
	if gone {
		return nil
	}
	if f.opened {
		if served, err := c.admit(f); !served {
			return err
		}
	}
	if err := c.Respond(f); err != nil || f.Request == nil {
		return err
	}
	q, p := f.Request, c.srv.plan.Load()
	if way, ok := choose(&c.srv.cuts, p.Cuts, q.ID, q.Field(":method") == "POST"); ok {
		return c.cut(q, way)
	}
	c.Execute(q)
	if d := p.Delay; d > 0 {
		c.later(d, func() { _ = c.Answer(q) })
		return nil
	}
	return c.Answer(q)
}

// admit decides on a new stream, and reports whether it is to be served.
func (c *H2Conn) admit(f *H2Frame) (bool, error) {
	p := c.srv.plan.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.leave
	if l.final || p.StreamsPerConn > 0 && l.streams >= p.StreamsPerConn {
		c.forget(f.StreamID)
		return false, nil
	}
	over := c.most > 0 && len(c.streams.open) > c.most
	if c.srv.refuses(c.streams.open[f.StreamID].req.ID, over) {
		return false, c.resetLocked(f.StreamID, http2.ErrCodeRefusedStream)
	}
	l.streams++
	l.admitted = f.StreamID
	if l.streams == p.StreamsPerConn {
		return true, c.departLocked(c.goAwayOf(p))
	}
	return true, nil
}

// goAwayOf returns how this connection is ended.
func (c *H2Conn) goAwayOf(p *h2Plan) H2GoAway {
	g := p.GoAway
	g.Quiet = g.Quiet || p.Unannounced > 0 && (c.Num+1)%p.Unannounced == 0
	return g
}

// timedOut handles the end of an idle time, and reports whether to read on.
func (c *H2Conn) timedOut(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	if !ok || !ne.Timeout() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leave.gone {
		return false // the client had lingerTime to close
	}
	if len(c.streams.open) > 0 {
		return true // one came together with the end
	}
	c.quietFor(0)
	return c.departLocked(c.goAwayOf(c.srv.plan.Load())) == nil
}
