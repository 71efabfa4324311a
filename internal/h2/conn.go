package h2

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

// A Conn is a connection that carries many exchanges at a time. Its methods may be called
// from any goroutine.
type Conn struct {
	nc     net.Conn
	raw    net.Conn // what is under nc's layers; nc itself where there is none
	layers int      // from nc to raw
	opt    *Options
	ev     Events
	sock   *socket // nil where nc's socket can't be written past nc
	tls    layer   // nil where nc isn't such a TLS layer

	once    sync.Once     // closes nc
	settled chan struct{} // closed when the peer's first SETTINGS have come, or never will
	rests   func() bool   // what resting is, of a TLS layer that knows better; else nil
	resting atomic.Bool   // the read loop waits, and has dealt with all that it took

	reader

	mu sync.Mutex // guards the following; nothing that blocks is called under it
	writer
	vitals
	waiting  list                 // requests without a stream, oldest first
	streams  map[uint32]*Exchange // open ones
	leaving  int                  // streams whose RST_STREAM is on its way
	nextID   uint32
	peer     peerSettings
	inflow   inflow // of the connection
	window   int32  // what the peer takes of all streams' data
	afloat   afloat
	spent    int64 // bytes of windows that were used and not given back
	goAway   GoAway
	gotAway  bool  // goAway is the peer's
	closing  error // no new stream begins: why
	fatal    error // the connection is over, or about to be: why
	over     bool  // all streams have ended
	toldEnd  bool
	deadline *time.Timer // the connection is over then; nil as long as nothing is wrong
	lastRead time.Time
	done     *Exchange // those whose owners are to be told, linked by nextDone
	events   []event   // for the owner of the connection
	calling  bool      // somebody delivers them
}

// What the peer's SETTINGS say (RFC 9113 section 6.5.2). Guarded by Conn.mu.
type peerSettings struct {
	seen          bool
	maxFrame      int
	window        int32 // a stream's first
	headerList    int64 // zero: no limit
	streams       uint32
	extendConnect bool
}

// NewConn makes a Conn of nc, whose handshake is over, and owns nc from now on. The preface
// leaves at once; NewConn doesn't wait for that.
func NewConn(nc net.Conn, opt *Options, ev Events) *Conn {
	c := &Conn{
		nc: nc, opt: opt, ev: ev,
		settled: make(chan struct{}),
		streams: make(map[uint32]*Exchange),
		nextID:  1,
		window:  initialWindow,
		peer:    peerSettings{maxFrame: defaultFrame, window: initialWindow},
	}
	c.raw, c.layers = wire.Bottom(nc)
	if c.layers == 0 {
		c.sock = newSocket(nc)
	} else if l, ok := nc.(layer); ok {
		if l.WritesNow() {
			c.tls = l
		}
		if rests, ok := l.TrackReads(); ok {
			c.rests = rests
		}
	}
	c.enc = hpack.NewEncoder((*blockSink)(c))
	c.enc.SetMaxDynamicTableSizeLimit(opt.encoderTable())
	c.reader.init(c)
	c.preface()
	c.vitals.settings = time.AfterFunc(settingsTimeout, c.settingsLate)
	go c.readLoop()
	return c
}

// preface queues what a client says first (RFC 9113 section 3.4).
func (c *Conn) preface() {
	c.mu.Lock()
	b := append(c.out.b, http2.ClientPreface...)
	b = appendSettings(b, c.opt.settings())
	size := orElse(c.opt.ConnWindow, freeWindow)
	c.inflow.avail = size
	if size > initialWindow {
		b = appendWindow(b, 0, uint32(size-initialWindow))
	}
	c.out.b = b
	c.out.add(nil, len(b), 0)
	c.inflow.size = size
	c.writeAndUnlock()
}

// newReader is the read loop's buffer: large, as it takes in the answers of many streams.
func newReader(c *Conn) *bufio.Reader { return bufio.NewReaderSize((*source)(c), 32<<10) }

// LastRead returns when a Read of the connection last returned bytes, with the monotonic and
// the wall clock's reading. Zero: never.
func (c *Conn) LastRead() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastRead
}

// Resting reports whether the read loop has dealt with all that it took from the connection
// and waits for more.
func (c *Conn) Resting() bool {
	if c.rests != nil {
		return c.rests()
	}
	return c.resting.Load()
}

// State returns a look at the connection.
func (c *Conn) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{
		Streams:     len(c.streams) + c.leaving,
		Queued:      c.waiting.n,
		StreamLimit: c.peer.streams,
		GoAway:      c.gotAway,
		LastGoAway:  c.goAway,
		PingRTT:     c.rtt,
		PingsSent:   c.pings,
		Suspect:     c.suspect,
	}
}

// An event waits to be told to the owner of the connection.
type event struct {
	kind  eventKind
	limit uint32
	away  GoAway
	yes   bool
	err   error
}

type eventKind uint8

const (
	eventLimit eventKind = iota
	eventAway
	eventSuspect
	eventClosed
)

// unlock gives c.mu back and tells owners what has happened under it.
func (c *Conn) unlock() {
	done := c.done
	c.done = nil
	call := len(c.events) > 0 && !c.calling
	c.calling = c.calling || call
	c.mu.Unlock()
	if call {
		c.deliver() // first, so that no stream's place goes to another on a connection that ends
	}
	for done != nil {
		x := done
		done, x.nextDone = x.nextDone, nil
		x.unwatch() // there may be no body whose Close would do it
		x.owner.StreamDone(x.why)
	}
}

// deliver tells events until there are none. One goroutine does it at a time.
func (c *Conn) deliver() {
	for {
		c.mu.Lock()
		if len(c.events) == 0 {
			c.events, c.calling = nil, false
			c.mu.Unlock()
			return
		}
		e := c.events[0]
		c.events = c.events[1:]
		c.mu.Unlock()
		switch e.kind {
		case eventLimit:
			c.ev.StreamLimit(e.limit)
		case eventAway:
			c.ev.GoingAway(e.away)
		case eventSuspect:
			c.ev.Suspect(e.yes)
		case eventClosed:
			c.ev.ConnClosed(e.err)
		}
	}
}

// tellLocked notes that x takes none of the peer's concurrency any more.
func (c *Conn) tellLocked(x *Exchange) {
	if x.told {
		return
	}
	x.told = true
	x.nextDone, c.done = c.done, x
}
