package h2

import (
	"time"

	"golang.org/x/net/http2"
)

// A flood counts frames that cost this side work and bring nobody any further. Peers send some
// of them; one that sends thousands within seconds, without an answer in between, means harm.
// It belongs to the read loop.
type flood struct {
	n     int
	since time.Time // when the first of them came
}

const (
	maxIdleFrames = 10000 // in a row that brought nothing
	idlePeriod    = 10 * time.Second
	maxAcks       = 1000 // frames that wait to be written because the peer asked for them
)

// useful is called when something of an answer has come.
func (f *flood) useful() { f.n = 0 }

// idle counts a frame.
func (f *flood) idle() error { return f.count(1) }

// empty counts a DATA frame without data, for which there is even less reason.
func (f *flood) empty() error { return f.count(10) }

// stray counts a frame for a stream that is closed, beyond what may have been on its way.
func (f *flood) stray() error { return f.count(1) }

func (f *flood) count(n int) error {
	if f.n == 0 {
		f.since = time.Now()
	}
	if f.n += n; f.n <= maxIdleFrames {
		return nil
	}
	if time.Since(f.since) > idlePeriod {
		f.n = 0
		return nil
	}
	return &ConnError{Code: http2.ErrCodeEnhanceYourCalm, Reason: "too many frames that bring nothing"}
}

// afloat is what may be on its way from the peer for streams that this side has reset: it's no
// flood, however small the pieces. Guarded by Conn.mu.
type afloat struct {
	data   int64 // bytes that the windows of these streams allowed
	frames int   // HEADERS and RST_STREAM
}

// framesAfloat are an interim answer, the final one, trailers and a reset.
const framesAfloat = 4

// leave notes that a stream was reset whose window had n bytes left.
func (a *afloat) leave(n int32) {
	a.data += int64(n)
	a.frames += framesAfloat
}

// takeData reports whether n bytes of data that came are among what was expected.
func (a *afloat) takeData(n int32) bool {
	ok := n > 0 && int64(n) <= a.data
	if ok {
		a.data -= int64(n)
	}
	return ok
}

// takeFrame is takeData for another frame.
func (a *afloat) takeFrame() bool {
	ok := a.frames > 0
	if ok {
		a.frames--
	}
	return ok
}
