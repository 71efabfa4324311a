package scenario

import (
	"io"
	"net/http"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// narrow is how much a peer that doesn't read takes, about: so little fills the way to it.
const narrow = 16 << 10

// stuckSite starts a site that answers, keeps silent, breaks its answer off in the middle, or
// doesn't take the request's body, as the path says: /answer, /silent, /half or /deaf.
func (r *rig) stuckSite(sp speech) *site {
	s := &site{speech: sp}
	if sp.h2 {
		s.p2 = r.h2peer(peer.H2Options{Handler: stickH2})
		s.url, s.addr = s.p2.url, s.p2.Addr()
	} else {
		s.h1 = r.peer(stick)
		s.url, s.addr = s.h1.url, s.h1.addr
	}
	return s
}

func stick(c *peerConn) {
	c.tcp.SetReadBuffer(narrow)
	for {
		req, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		switch req.URL.Path {
		case "/deaf":
			c.peer.stays(2 * longest) // an end that comes behind unread bytes doesn't show
			return
		case "/silent":
			c.drain()
			return
		case "/half":
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
			c.drain()
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		c.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

// stickH2 takes one stream at a time, so that a slot is a stream's.
func stickH2(c *peer.H2Conn) {
	if c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) != nil {
		return
	}
	deaf := make(map[uint32]bool)
	for {
		f, err := c.Read()
		if err != nil {
			return
		}
		for _, v := range f.Fields {
			deaf[f.StreamID] = deaf[f.StreamID] || v.Name == ":path" && v.Value == "/deaf"
		}
		if f.Type == http2.FrameData && deaf[f.StreamID] {
			err = c.Credit(0, int(f.Length)) // others need that
		} else {
			err = c.Respond(f)
		}
		if err == nil && f.Request != nil {
			err = stickStream(c, f.Request)
		}
		if err != nil {
			return
		}
	}
}

func stickStream(c *peer.H2Conn, q *peer.H2Request) error {
	switch q.Field(":path") {
	case "/silent":
		return nil
	case "/half":
		return c.Headers(q.Stream, false, ":status", "200")
	}
	return c.Headers(q.Stream, true, ":status", "200")
}
