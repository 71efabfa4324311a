package h1

import (
	"io"
	"net/http"
	"sync"
	"time"

	"example.com/connwise/internal/wire"
)

const (
	drainBytes = 64 << 10              // so much of an unread body is read to keep its connection
	drainTime  = 20 * time.Millisecond // and it may take so long: about what a new connection costs
	uploadWait = 1 * time.Second       // for the last Write of an upload whose answer was closed
)

// Close ends the exchange if it isn't over. It never blocks for long: what is left of
// the answer's body is read if that's at most 64 KiB and comes within 20 ms, so that
// the connection can be kept; otherwise the connection is closed. A Read under way
// ends with http.ErrBodyReadAfterClose. An upload is stopped, unless only its last
// Write is under way. Later calls do nothing. It returns nil.
func (x *Exchange) Close() error {
	if first, over := x.markClosed(); !first || over && x.gz == nil {
		return nil
	}
	if !x.rmu.TryLock() {
		x.failNow(wire.EndUnread, http.ErrBodyReadAfterClose)
		x.endUpload()
		return nil
	}
	why, ok := x.drain()
	x.over, x.broken = false, nil
	x.dropReader()
	x.dropGzip()
	x.rmu.Unlock()
	if ok {
		x.settle()
	} else {
		x.fail(why, http.ErrBodyReadAfterClose)
	}
	x.endUpload()
	return nil
}

// markClosed reports whether it is the first Close, and whether there is nothing left to end.
func (x *Exchange) markClosed() (first, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	first = !x.closed
	x.closed = true
	return first, x.ended && x.up == nil
}

// drain reads the rest of the body and reports whether it's all there, and if not,
// how the exchange ends. x.rmu is held.
func (x *Exchange) drain() (why wire.End, ok bool) {
	if x.wire == nil {
		return wire.EndKept, true
	}
	x.mu.Lock()
	keep := x.keep
	upload := !x.writeEnd && x.up != nil && !x.up.taken
	x.mu.Unlock()
	switch {
	case !keep:
		return wire.EndNotKept, false
	case upload:
		return wire.EndUpload, false
	case x.left > drainBytes:
		return wire.EndUnread, false
	}
	return wire.EndUnread, x.drainWire()
}

var scratch = sync.Pool{New: func() any { return new([4 << 10]byte) }}

// drainWire reads on within the limits and reports whether the end came.
func (x *Exchange) drainWire() bool {
	x.inBody = false                                   // one limit for all reads
	if x.left < 0 || x.left > int64(x.br.Buffered()) { // else it's there
		x.mu.Lock()
		x.setLocked(&x.alarmsLocked().rstall, drainTime, wire.EndUnread, http.ErrBodyReadAfterClose)
		x.mu.Unlock()
	}
	p := scratch.Get().(*[4 << 10]byte)
	defer scratch.Put(p)
	for sum := 0; sum <= drainBytes; {
		n, err := x.readWire(p[:])
		sum += n
		if err != nil {
			return err == io.EOF
		}
	}
	return false
}

// endUpload ends what is left of the upload when the caller has lost interest.
func (x *Exchange) endUpload() {
	x.mu.Lock()
	if x.up == nil {
		x.mu.Unlock()
		return
	}
	x.up.noReads = true
	last := !x.writeEnd && !x.ended && x.up.taken
	if last {
		x.setLocked(&x.alarmsLocked().head, uploadWait, wire.EndUpload, http.ErrBodyReadAfterClose)
	}
	going := !x.writeEnd && !x.ended && !last
	x.mu.Unlock()
	if last {
		return
	}
	if going {
		x.fail(wire.EndUpload, http.ErrBodyReadAfterClose)
	}
	x.halt()
}
