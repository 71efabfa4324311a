package h2

// A batch is bytes for one Write, and whose they are. What a stream's owner is told about it
// follows from what Write accepted of these bytes, and from nothing else.
type batch struct {
	b    []byte
	segs []segment
	at   int // segs before it have been accepted
}

// A segment is the bytes of a stream, in the order of the batch. Those of the connection
// belong to no stream.
type segment struct {
	x    *Exchange // nil: the connection's
	n    int       // bytes that haven't been accepted
	mark mark
}

// A mark is what it means that a segment has been accepted.
type mark uint8

const (
	markHead  mark = 1 << iota // the request's header section is out
	markEnd                    // the request is out
	markReset                  // the stream's RST_STREAM is out
)

const (
	batchSize    = 256 << 10 // no more uploads are taken into a batch of so many bytes
	maxKeptBatch = 2 * batchSize
)

// add notes that the last n bytes of b are x's.
func (t *batch) add(x *Exchange, n int, m mark) {
	if last := len(t.segs) - 1; x == nil && last >= t.at && t.segs[last].x == nil {
		t.segs[last].n += n
		return
	}
	t.segs = append(t.segs, segment{x, n, m})
}

// reset makes the batch ready for the next turn. One large batch must not pin its memory.
func (t *batch) reset() {
	clear(t.segs)
	t.segs, t.at, t.b = t.segs[:0], 0, t.b[:0]
	if cap(t.b) > maxKeptBatch {
		t.b = nil
	}
}

// advance notes that n more bytes were accepted, and tells done of each segment that is
// complete.
func (t *batch) advance(n int, done func(*Exchange, mark)) {
	for t.at < len(t.segs) {
		s := &t.segs[t.at]
		k := min(n, s.n)
		s.n -= k
		n -= k
		if s.x != nil && s.mark != markReset {
			s.x.sent += int64(k)
		}
		if s.n > 0 {
			return
		}
		t.at++
		if s.x != nil && s.mark != 0 {
			done(s.x, s.mark)
		}
	}
}

// holds reports whether a part of the batch that hasn't been accepted is x's.
func (t *batch) holds(x *Exchange) bool {
	for i := t.at; i < len(t.segs); i++ {
		if t.segs[i].x == x {
			return true
		}
	}
	return false
}
