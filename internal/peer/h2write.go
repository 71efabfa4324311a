package peer

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Write has f write any frames, legal or not.
func (c *H2Conn) Write(f func(*http2.Framer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(f)
}

func (c *H2Conn) writeLocked(f func(*http2.Framer) error) error {
	if err := f(c.fr); err != nil {
		return err
	}
	if c.lazy {
		return nil
	}
	return c.bw.Flush()
}

// Raw writes bytes as they are.
func (c *H2Conn) Raw(b []byte) error {
	return c.Write(func(*http2.Framer) error { _, err := c.bw.Write(b); return err })
}

// Settings sends SETTINGS. The limits in them hold for the client once it has
// acknowledged them; what it does against them is then noted.
func (c *H2Conn) Settings(ss ...http2.Setting) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settingsLocked(ss)
}

func (c *H2Conn) settingsLocked(ss []http2.Setting) error {
	c.streams.announce(ss)
	return c.writeLocked(func(fr *http2.Framer) error { return fr.WriteSettings(ss...) })
}

// SettingsAck acknowledges the client's SETTINGS.
func (c *H2Conn) SettingsAck() error {
	return c.Write(func(fr *http2.Framer) error { return fr.WriteSettingsAck() })
}

// Ping sends a PING, or with ack the answer to one.
func (c *H2Conn) Ping(ack bool, data [8]byte) error {
	if ack {
		c.srv.book.note(c, func(r *H2ConnReport) { r.PingsUnanswered-- })
	}
	return c.Write(func(fr *http2.Framer) error { return fr.WritePing(ack, data) })
}

// GoAway sends a GOAWAY with any last stream id and code, and behind it a PING: a
// stream that the client opens after its answer to that is counted in Late. GoAway
// itself changes nothing about which streams are served.
func (c *H2Conn) GoAway(last uint32, code http2.ErrCode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.goAwayLocked(last, code)
}

func (c *H2Conn) goAwayLocked(last uint32, code http2.ErrCode) error {
	c.srv.book.note(c, func(r *H2ConnReport) { r.GoAwaysSent++ })
	return c.writeLocked(func(fr *http2.Framer) error {
		if err := fr.WriteGoAway(last, code, nil); err != nil {
			return err
		}
		return fr.WritePing(false, farewell)
	})
}

// farewell marks the PING behind a GOAWAY.
var farewell = [8]byte{'g', 'o', 'a', 'w', 'a', 'y'}

// Reset sends RST_STREAM, and forgets the stream.
func (c *H2Conn) Reset(stream uint32, code http2.ErrCode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resetLocked(stream, code)
}

func (c *H2Conn) resetLocked(stream uint32, code http2.ErrCode) error {
	if code == http2.ErrCodeRefusedStream {
		c.srv.book.note(c, func(r *H2ConnReport) { r.Refused++ })
	}
	err := c.writeLocked(func(fr *http2.Framer) error { return fr.WriteRSTStream(stream, code) })
	c.forget(stream)
	return err
}

// Headers sends HEADERS, of at most one frame; pairs are names and values, pseudo-headers first.
func (c *H2Conn) Headers(stream uint32, end bool, pairs ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headersLocked(stream, end, pairs...)
}

func (c *H2Conn) headersLocked(stream uint32, end bool, pairs ...string) error {
	c.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		if err := c.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			return err
		}
	}
	c.strikes.sent()
	err := c.writeLocked(func(fr *http2.Framer) error {
		return fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end,
		})
	})
	if end {
		c.halfClose(stream)
	}
	return err
}

// Data sends DATA whatever the client's windows say.
func (c *H2Conn) Data(stream uint32, end bool, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dataLocked(stream, end, b)
}

func (c *H2Conn) dataLocked(stream uint32, end bool, b []byte) error {
	c.streams.spend(stream, len(b))
	c.strikes.sent()
	err := c.writeLocked(func(fr *http2.Framer) error { return fr.WriteData(stream, end, b) })
	if end {
		c.halfClose(stream)
	}
	return err
}

// Credit sends WINDOW_UPDATE for a stream, or for the connection as stream 0.
func (c *H2Conn) Credit(stream uint32, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.creditLocked(stream, n)
}

func (c *H2Conn) creditLocked(stream uint32, n int) error {
	c.streams.grant(stream, n)
	return c.writeLocked(func(fr *http2.Framer) error { return fr.WriteWindowUpdate(stream, uint32(n)) })
}
