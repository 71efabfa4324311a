package pool

import (
	"strconv"
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// A sharedPeer is the peer of an HTTP/2 connection.
type sharedPeer struct {
	srv *peer.H2Server

	// Guarded by model.mu.
	c2      *peer.H2Conn
	streams map[uint32]*modelReq // open
	begun   map[uint32]bool      // of those: with a part of their answer
	last    uint32               // the highest stream seen
	told    bool                 // SETTINGS were sent
	limit   int                  // what they said
	mute    bool                 // nothing is acknowledged any more
}

func (c *modelConn) startHTTP2() {
	c.streams, c.begun = make(map[uint32]*modelReq), make(map[uint32]bool)
	c.srv = peer.NewH2(peer.H2Options{Handler: c.serveHTTP2})
	go c.srv.ServeConn(c.server)
}

// serveHTTP2 reads frames. It acknowledges what has to be; the rest is the steps'.
func (c *modelConn) serveHTTP2(c2 *peer.H2Conn) {
	c.m.mu.Lock()
	c.c2 = c2
	c.m.mu.Unlock()
	for {
		f, err := c2.Read()
		if err != nil {
			return
		}
		if c.take(f) && c2.Respond(f) != nil {
			return
		}
	}
}

// take notes what came, and tells whether it is to be acknowledged.
func (c *modelConn) take(f *peer.H2Frame) bool {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if f.Type == http2.FrameRSTStream {
		delete(c.streams, f.StreamID)
	}
	if q := f.Request; q != nil {
		c.arrivedShared(q)
	}
	return c.told && !c.mute
}

// arrivedShared notes a request, and checks that it should have come.
func (c *modelConn) arrivedShared(q *peer.H2Request) {
	m := c.m
	r := m.placeLocked(c, q.Field("x-id"))
	if r == nil {
		return
	}
	c.streams[q.Stream] = r
	c.last = max(c.last, q.Stream)
	limit := 1
	if c.told {
		limit = c.limit
	}
	if len(c.streams) > limit {
		m.errorf("request %d came as stream number %d of %d", r.id, len(c.streams), limit)
	}
}

// held are the requests that the peer has and that still hold the connection.
func (c *modelConn) held() []*modelReq {
	var rs []*modelReq
	for _, r := range c.streams {
		if !r.over() {
			rs = append(rs, r)
		}
	}
	return rs
}

// A modelStream is one that is open at its peer.
type modelStream struct {
	c  *modelConn
	id uint32
}

// openStreams are those of live connections, in order.
func (m *model) openStreams() (ss []modelStream) {
	for _, c := range m.openConns() {
		for id := uint32(1); id <= c.last; id += 2 {
			if r := c.streams[id]; r != nil && !r.over() && c.told && c.spoiled != "FIN" && c.spoiled != "RST" {
				ss = append(ss, modelStream{c, id})
			}
		}
	}
	return ss
}

// stepOfHTTP2 has the steps of peers of HTTP/2.
func (m *model) stepOfHTTP2(s step) func() {
	ready := some(m.openConns(), func(c *modelConn) bool { return c.c2 != nil })
	alive := some(ready, func(c *modelConn) bool { return c.spoiled != "FIN" && c.spoiled != "RST" })
	streams := m.openStreams()
	fresh := some(streams, func(st modelStream) bool { return !st.c.begun[st.id] })
	switch s.what {
	case "answer":
		return one(fresh, s, func(st modelStream) { st.answer(s.v%2 == 0) })
	case "answer in part":
		return one(fresh, s, func(st modelStream) { st.head(false); st.c.begun[st.id] = true })
	case "answer the rest":
		begun := some(streams, func(st modelStream) bool { return st.c.begun[st.id] })
		return one(begun, s, modelStream.end)
	case "refuse":
		return one(fresh, s, func(st modelStream) { st.reset(http2.ErrCodeRefusedStream) })
	case "reset":
		return one(streams, s, func(st modelStream) { st.reset(http2.ErrCodeCancel) })
	case "settings":
		return one(alive, s, func(c *modelConn) { c.settings([]int{1, 2, 100, 0, 3, 0}[s.v%6]) })
	case "goaway":
		told := some(alive, func(c *modelConn) bool { return c.told && c.spoiled == "" })
		return one(told, s, func(c *modelConn) { c.goAway(s.v) })
	case "mute":
		return one(alive, s, func(c *modelConn) { c.mute = !c.mute })
	case "fin":
		return one(alive, s, func(c *modelConn) { c.spoiled = "FIN"; c.server.CloseWrite() })
	case "rst":
		return one(alive, s, func(c *modelConn) { c.spoiled = "RST"; c.server.Reset() })
	}
	return nil
}

// settings says how many streams the peer takes. The first time, that ends the handshake.
func (c *modelConn) settings(n int) {
	first := !c.told
	c.told, c.limit = true, n
	c.c2.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(n)})
	if first {
		c.c2.SettingsAck()
	}
}

// goAway takes the peer out of service; the newest of its streams are refused.
func (c *modelConn) goAway(refuse int) {
	last := c.last
	c.spoiled = "GOAWAY"
	for ; refuse > 0 && last > 0 && !c.begun[last]; refuse-- {
		if r := c.streams[last]; r != nil {
			c.refuseLocked(last)
		}
		last -= min(last, 2)
	}
	c.c2.GoAway(last, http2.ErrCodeNo)
}

// refuseLocked notes that the stream's request was not processed.
func (c *modelConn) refuseLocked(id uint32) {
	c.streams[id].refused++
	c.streams[id].on = nil
	delete(c.streams, id)
}

func (st modelStream) reset(code http2.ErrCode) {
	c := st.c
	if code == http2.ErrCodeRefusedStream {
		c.refuseLocked(st.id)
	}
	delete(c.streams, st.id)
	c.c2.Reset(st.id, code)
}

func (st modelStream) head(end bool) {
	c := st.c
	c.c2.Headers(st.id, end, ":status", "200", "x-id", strconv.Itoa(c.streams[st.id].id))
}

func (st modelStream) answer(empty bool) {
	id := strconv.Itoa(st.c.streams[st.id].id)
	st.gone()
	st.c.c2.Headers(st.id, empty, ":status", "200", "x-id", id)
	if !empty {
		st.c.c2.Data(st.id, true, []byte("answer"))
	}
}

func (st modelStream) end() {
	st.gone()
	st.c.c2.Data(st.id, true, []byte("ended"))
}

// gone notes that the stream is about to end.
func (st modelStream) gone() {
	delete(st.c.streams, st.id)
	st.c.idleSince = time.Now()
}
