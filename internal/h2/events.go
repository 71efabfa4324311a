package h2

import (
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// Events is how a connection tells its owner what concerns all of its streams. The calls come
// from the connection's goroutines, one at a time, in order, with no lock held. They must not
// block, but may call the connection's methods.
type Events interface {
	// StreamLimit is the number of streams that the peer allows at a time. It comes with the
	// peer's first SETTINGS, with DefaultStreams if they have none, and when it changes.
	StreamLimit(n uint32)
	// GoingAway says that no new stream can be had from now on. It comes with each GOAWAY of
	// the peer's, and once where this side has a reason (Local).
	GoingAway(g GoAway)
	// Suspect says that a stream has timed out and nothing has been read since it was sent, or
	// that Confirm has waited for nothing: a PING is under way, and another connection is the
	// better choice (true); or that a frame has come (false).
	Suspect(yes bool)
	// ConnClosed says that the connection is over: the net.Conn is closed, and each stream's
	// owner was told or is about to be. It comes once. err is never nil.
	ConnClosed(err error)
}

// An Owner is told once for each Start, also after an error, when the stream takes none of
// the peer's concurrency any more: it ended both ways, or its RST_STREAM was accepted by
// Write, or it never got an id, or the connection is over. That may be before Start returns.
// The call comes from whichever goroutine ended it, with no lock held, and must not block.
type Owner interface {
	StreamDone(why wire.End)
}

// A GoAway is what a GOAWAY frame says, or why this side lets no new stream begin.
type GoAway struct {
	LastStreamID uint32 // streams above it were not processed
	Code         http2.ErrCode
	Debug        string // what the peer added, cut at 256 bytes
	Local        bool   // it's not the peer who said it: nothing is known of any stream
	Failing      bool   // with Local: the connection is about to end, and ConnClosed follows
}

// maxDebug bounds what is kept of a GOAWAY's debug data, in bytes.
const maxDebug = 256

// noMoreStreams is the last id of a GOAWAY that only says that no new stream is wanted; the
// true one may follow (RFC 9113 section 6.8).
const noMoreStreams = 1<<31 - 1

// A State is a look at a connection.
type State struct {
	Streams     int    // open, or ended and not yet off the peer's books
	Queued      int    // requests that wait for their turn to be written
	StreamLimit uint32 // zero until the peer's first SETTINGS
	GoAway      bool   // the peer has sent one: LastGoAway
	LastGoAway  GoAway
	PingRTT     time.Duration // of the last PING that was answered; zero: none was
	PingsSent   int64
	Suspect     bool
}
