package h2

import "sync"

// A chunk is a piece of an answer's body that waits to be read. Chunks come from pools in two
// sizes. What is unread of a body fills at least half of two neighbours.
type chunk struct {
	b    []byte
	r, w int // b[r:w] is unread
	next *chunk
}

const (
	smallChunk = 2 << 10
	largeChunk = 16 << 10
)

var smallChunks = sync.Pool{New: func() any { return &chunk{b: make([]byte, smallChunk)} }}
var largeChunks = sync.Pool{New: func() any { return &chunk{b: make([]byte, largeChunk)} }}

// newChunk returns a chunk for n bytes, or the first of them.
func newChunk(n int) *chunk {
	pool := &largeChunks
	if n <= smallChunk {
		pool = &smallChunks
	}
	return pool.Get().(*chunk)
}

func (k *chunk) free() {
	k.r, k.w, k.next = 0, 0, nil
	if len(k.b) == smallChunk {
		smallChunks.Put(k)
	} else {
		largeChunks.Put(k)
	}
}

func (k *chunk) room() int { return len(k.b) - k.w }

func (k *chunk) write(p []byte) { k.w += copy(k.b[k.w:], p) }

// A body is the unread part of an answer. Guarded by Conn.mu.
type body struct {
	first, last *chunk
}

func (b *body) tail() *chunk { return b.last }

func (b *body) push(k *chunk) {
	if b.last != nil {
		b.last.next = k
	} else {
		b.first = k
	}
	b.last = k
}

// read copies unread bytes to p.
func (b *body) read(p []byte) (n int) {
	for b.first != nil && n < len(p) {
		k := b.first
		m := copy(p[n:], k.b[k.r:k.w])
		k.r += m
		n += m
		if k.r < k.w {
			break
		}
		b.pop()
	}
	return n
}

func (b *body) pop() {
	k := b.first
	if b.first = k.next; b.first == nil {
		b.last = nil
	}
	k.free()
}

// cut drops the last n bytes, which are all in the last chunk.
func (b *body) cut(n int) { b.last.w -= n }

// drop drops all, and returns how many bytes that were.
func (b *body) drop() (n int) {
	for b.first != nil {
		n += b.first.w - b.first.r
		b.pop()
	}
	return n
}
