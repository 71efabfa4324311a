package oracle

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

const (
	usualLimit = 100 // of open streams
	anyStream  = 1<<31 - 1
	delaySpan  = 2 * time.Millisecond
	graceSpan  = 3 * time.Millisecond
)

// An h2sock is a socket on its way into a peer.H2Conn, with what its script needs.
type h2sock struct {
	*sock
	rng    *rand.Rand
	doomed bool // it gets a GOAWAY at once
}

func (p *port) startH2() {
	o := peer.H2Options{Handler: p.serveH2, KeepBody: largeBody}
	if p.tls != nil {
		o.TLS = p.tls.Clone()
		o.TLS.NextProtos = []string{"h2"}
	}
	p.h2 = peer.NewH2(o)
}

// An h2conn serves a connection over HTTP/2, frame by frame.
type h2conn struct {
	*peer.H2Conn
	port *port
	sock *h2sock
	wg   sync.WaitGroup // answers and GOAWAYs to come

	mu    sync.Mutex // guards what follows, and arrivals; never held while reading
	rng   *rand.Rand
	open  map[uint32]*arrival // neither answered nor given up
	seen  uint32              // the highest stream that has arrived
	done  uint32              // the highest that was executed
	limit int
	gone  bool // nothing is executed, and nothing said, any more
}

func (p *port) serveH2(conn *peer.H2Conn) {
	s := conn.NetConn().(*h2sock)
	c := &h2conn{H2Conn: conn, port: p, sock: s, rng: s.rng, open: make(map[uint32]*arrival), limit: usualLimit}
	defer c.wg.Wait()
	c.mu.Lock()
	_ = c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: usualLimit})
	if s.doomed {
		c.away(0)
	}
	c.mu.Unlock()
	for {
		f, err := c.Read()
		if err != nil {
			if isEnd(err) {
				s.link.noteEnd()
			}
			c.giveUp()
			return
		}
		c.take(f)
	}
}

func (c *h2conn) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

// take deals with a frame.
func (c *h2conn) take(f *peer.H2Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Type == http2.FrameHeaders && f.StreamID > c.seen {
		if !c.arrived(f) {
			return
		}
	}
	if f.Type == http2.FrameRSTStream {
		delete(c.open, f.StreamID)
		c.leaveIfEmpty()
	}
	if c.gone {
		return
	}
	_ = c.Respond(f)
	if q := f.Request; q != nil {
		if a := c.open[q.Stream]; a != nil {
			c.whole(q, a)
		}
	}
}

// arrived notes a new stream, and reports whether it's to be served.
func (c *h2conn) arrived(f *peer.H2Frame) bool {
	c.seen = f.StreamID
	var id, attempt int
	expects := false
	for _, v := range f.Fields {
		switch v.Name {
		case "x-request-id":
			id, _ = strconv.Atoi(v.Value)
		case "x-attempt":
			attempt, _ = strconv.Atoi(v.Value)
		case "expect":
			expects = true
		}
	}
	l := c.sock.link
	a := c.port.notes.arrive(id, attempt, l, f.StreamID)
	l.mu.Lock()
	l.heads++
	beyond := l.away && f.StreamID > l.last
	l.mu.Unlock()
	switch {
	case c.gone || beyond:
		return false
	case len(c.open) >= c.limit:
		c.meet(a, fateCrowded)
		c.refuse(a)
		return false
	}
	c.open[f.StreamID] = a
	if !c.head(f, a) {
		return false
	}
	a.told = a.told || expects && !f.End() // Respond sends a 100
	return true
}

func (c *h2conn) meet(a *arrival, f fate) { c.port.notes.meet(a, f) }

// run executes a request.
func (c *h2conn) run(a *arrival) {
	a.execute()
	c.done = max(c.done, a.stream)
}

// execute executes a request that has come whole.
func (c *h2conn) execute(q *peer.H2Request, a *arrival) {
	c.run(a)
	if !rightBody(q.Body, q.Field("x-body")) {
		a.spoil()
	}
}

// answer answers a request that was executed.
func (c *h2conn) answer(q *peer.H2Request, a *arrival) {
	if c.gone || c.open[a.stream] != a {
		return
	}
	c.begin(q, a)
	if q.Field(":method") != "HEAD" {
		_ = c.Data(a.stream, true, []byte(answerText(q.Field("x-request-id"))))
	}
	c.over(a)
}

// begin sends the head of an answer, to HEAD the whole.
func (c *h2conn) begin(q *peer.H2Request, a *arrival) {
	id := q.Field("x-request-id")
	_ = c.Headers(a.stream, q.Field(":method") == "HEAD", ":status", "200", "x-request-id", id, "content-length", strconv.Itoa(len(answerText(id))))
}

// over takes a stream from the books, which may be the last one of a connection that leaves.
func (c *h2conn) over(a *arrival) {
	delete(c.open, a.stream)
	c.leaveIfEmpty()
}

func (c *h2conn) refuse(a *arrival) {
	a.refused = !a.told
	_ = c.Reset(a.stream, http2.ErrCodeRefusedStream)
	c.over(a)
}

func (c *h2conn) reset(a *arrival) {
	a.told = true
	codes := []http2.ErrCode{http2.ErrCodeInternal, http2.ErrCodeCancel, http2.ErrCodeProtocol, http2.ErrCodeEnhanceYourCalm}
	_ = c.Reset(a.stream, codes[c.rng.IntN(len(codes))])
	c.over(a)
}

// hint sends early hints.
func (c *h2conn) hint(a *arrival) {
	a.told = true
	_ = c.Headers(a.stream, false, ":status", "103", "link", "</x>")
}

// away says by GOAWAY that no stream above last is executed.
func (c *h2conn) away(last uint32) {
	l := c.sock.link
	l.mu.Lock()
	if l.away {
		last = min(last, l.last)
	}
	l.away, l.last = true, last
	l.mu.Unlock()
	for id := range c.open {
		if id > last {
			delete(c.open, id)
		}
	}
	codes := []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeNo, http2.ErrCodeInternal, http2.ErrCodeEnhanceYourCalm}
	_ = c.GoAway(last, codes[c.rng.IntN(len(codes))])
	c.leaveIfEmpty()
}

// leaveIfEmpty closes a connection of which a GOAWAY has said the end, if nothing is left to be
// answered.
func (c *h2conn) leaveIfEmpty() {
	l := c.sock.link
	l.mu.Lock()
	away := l.away
	l.mu.Unlock()
	if away && len(c.open) == 0 {
		c.lose(styleFIN)
	}
}

// lose closes the connection at the frame's boundary. What comes after a FIN is still read.
func (c *h2conn) lose(how style) {
	if c.gone {
		return
	}
	c.gone = true
	switch how {
	case styleRST:
		c.Close(peer.RST)
	case styleClose:
		c.Close(peer.BareFIN)
	default:
		c.CloseNotify()
		if how == styleFIN || !c.port.proto.tls {
			_ = c.sock.CloseWrite()
		}
		_ = c.sock.SetReadDeadline(time.Now().Add(lingerTime))
	}
}
