package h2

import "golang.org/x/net/http2"

// A flood counts frames that cost this side work and bring nobody any further. Peers send a
// few; one that sends thousands without an answer's bytes in between means harm. It belongs
// to the read loop.
type flood struct{ n int }

const (
	maxIdleFrames = 10000 // frames in a row that brought nothing
	maxAcks       = 1000  // frames that wait to be written because the peer asked for them
)

// useful is called when an answer's bytes have come.
func (f *flood) useful() { f.n = 0 }

// idle counts a frame.
func (f *flood) idle() error { return f.count(1) }

// empty counts a DATA frame without data, for which there is even less reason.
func (f *flood) empty() error { return f.count(10) }

// stray counts a frame for a stream that is closed. There may be a window full of them for
// each that was cancelled.
func (f *flood) stray() error { return f.count(1) }

func (f *flood) count(n int) error {
	if f.n += n; f.n > maxIdleFrames {
		return &ConnError{Code: http2.ErrCodeEnhanceYourCalm, Reason: "too many frames that bring nothing"}
	}
	return nil
}
