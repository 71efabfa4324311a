package h1

import (
	"bufio"
	"io"
	"sync"
)

const (
	defaultBuffer = 4 << 10
	maxInline     = 64 << 10 // a larger body has a writer goroutine, so that an early answer is seen
	maxKeptBuffer = 2 * maxInline
	uploadBuffer  = 32 << 10
	largeUpload   = 128<<10 - 2*chunkRoom // in place of it, behind so many full ones
	fullUploads   = 8
)

// readers has a *sync.Pool of *bufio.Reader for each size in use: a handful, as the
// sizes come from configurations.
var readers sync.Map

func readerPool(size int) *sync.Pool {
	if p, ok := readers.Load(size); ok {
		return p.(*sync.Pool)
	}
	p, _ := readers.LoadOrStore(size, &sync.Pool{New: func() any { return bufio.NewReaderSize(nil, size) }})
	return p.(*sync.Pool)
}

var defaultReaders = readerPool(defaultBuffer)

func getReader(r io.Reader, size int) *bufio.Reader {
	pool := defaultReaders
	if size > 0 && size != defaultBuffer {
		pool = readerPool(max(size, 16)) // bufio's least
	}
	br := pool.Get().(*bufio.Reader)
	br.Reset(r)
	return br
}

func putReader(br *bufio.Reader) {
	pool := defaultReaders
	if br.Size() != defaultBuffer {
		pool = readerPool(br.Size())
	}
	br.Reset(nil)
	pool.Put(br)
}

// A buffer is a slice that a pool keeps without allocating for its header.
type buffer struct{ b []byte }

var uploads, largeUploads, heads sync.Pool // of *buffer

func getBuffer(p *sync.Pool, size int) *buffer {
	buf, _ := p.Get().(*buffer)
	if buf == nil {
		buf = new(buffer)
	}
	buf.grow(size)
	return buf
}

func putBuffer(p *sync.Pool, buf *buffer) {
	if buf.empty() {
		p.Put(buf)
	}
}

func (buf *buffer) grow(size int) {
	if cap(buf.b) < size {
		buf.b = make([]byte, 0, size)
	}
}

// empty makes buf ready for its next user. It's false if there is none: one large request must
// not pin its memory.
func (buf *buffer) empty() bool {
	buf.b = buf.b[:0]
	return cap(buf.b) <= maxKeptBuffer
}
