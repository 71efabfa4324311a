package peer

import (
	"golang.org/x/net/http2"
)

// take enters a frame of the client's into the books. c.mu is held.
func (c *H2Conn) take(f *H2Frame) {
	var err error
	switch f.Type {
	case http2.FrameHeaders:
		err = c.takeHeaders(f)
	case http2.FrameData:
		var st *h2Stream
		if st, err = c.streams.data(f, c.srv.keep); st != nil && f.End() && err == nil {
			err = c.complete(f, st)
		}
	case http2.FrameRSTStream:
		err = c.takeReset(f)
	case http2.FrameSettings:
		err = c.takeSettings(f)
	case http2.FramePing:
		c.takePing(f)
	case http2.FrameWindowUpdate:
		c.streams.window(f)
	case http2.FrameGoAway:
		c.srv.book.note(c, func(r *H2ConnReport) {
			if len(r.GoAways) < maxFarewells {
				r.GoAways = append(r.GoAways, H2Farewell{f.Last, f.Code})
			}
		})
	}
	if err != nil {
		c.srv.book.violated(c, err.Error())
	}
}

func (c *H2Conn) takeHeaders(f *H2Frame) error {
	st := c.streams.open[f.StreamID]
	var err error
	switch {
	case st == nil && f.StreamID <= c.streams.last:
		return c.streams.closed(f) // trailers
	case st == nil:
		st, err = c.streams.add(f)
		f.opened = true
		c.wake()
		c.srv.book.note(c, func(r *H2ConnReport) {
			r.Streams++
			r.OpenStreams++
			r.StreamPeak = max(r.StreamPeak, r.OpenStreams)
			if c.leave.confirmed {
				r.Late++
			}
		})
	}
	if f.End() && err == nil {
		err = c.complete(f, st)
	}
	return err
}

// complete makes a request of a stream that the client has ended.
func (c *H2Conn) complete(f *H2Frame, st *h2Stream) error {
	if err := st.complete(); err != nil {
		return err
	}
	f.Request = &st.req
	c.srv.book.note(c, func(r *H2ConnReport) { r.Received++ })
	if st.out {
		c.forget(f.StreamID)
	}
	return nil
}

func (c *H2Conn) takeReset(f *H2Frame) error {
	if c.streams.open[f.StreamID] == nil {
		if err := c.streams.closed(f); err != nil {
			return err
		}
	}
	c.streams.noteReset(f.StreamID)
	c.srv.book.note(c, func(r *H2ConnReport) { r.Cancelled++ })
	c.forget(f.StreamID)
	return nil
}

func (c *H2Conn) takeSettings(f *H2Frame) error {
	if f.Ack() {
		return c.streams.acknowledged()
	}
	for _, v := range f.Settings {
		switch v.ID {
		case http2.SettingInitialWindowSize:
			c.streams.resize(int(v.Val))
		case http2.SettingHeaderTableSize:
			c.enc.SetMaxDynamicTableSizeLimit(v.Val)
		}
	}
	return nil
}

func (c *H2Conn) takePing(f *H2Frame) {
	if f.Ack() {
		c.leave.confirmed = c.leave.confirmed || string(f.Data) == string(farewell[:])
		return
	}
	c.srv.book.note(c, func(r *H2ConnReport) {
		r.Pings++
		r.PingsUnanswered++
		r.PingPeak = max(r.PingPeak, r.PingsUnanswered)
	})
}

// halfClose ends the server's side of a stream, whose last frame is written: it may end
// the connection. c.mu is held.
func (c *H2Conn) halfClose(stream uint32) {
	if st := c.streams.open[stream]; st != nil {
		st.out = true
		if st.in {
			c.forget(stream)
		}
	}
}

// forget takes a stream out of the books, if it is in them. Like halfClose it comes last.
// c.mu is held.
func (c *H2Conn) forget(stream uint32) {
	if c.streams.open[stream] == nil {
		return
	}
	delete(c.streams.open, stream)
	c.srv.book.note(c, func(r *H2ConnReport) { r.OpenStreams-- })
	if len(c.streams.open) == 0 {
		c.rest()
	}
}
