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

// stray counts a frame for a stream that is closed. A window full of them may come for each
// that was cancelled.
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
