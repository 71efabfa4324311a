package h1

import (
	"io"
	"strconv"
	"sync"

	"example.com/connwise/internal/wire"
)

// chunkRoom is kept free before and behind the data in an upload's buffer, so that a
// chunk with its head and end is one Write.
const chunkRoom = 16

// tailRoom is the size of the Read that finds out whether a body is longer than it said.
const tailRoom = 512

// size returns how much of the body is read at a time, in bytes.
func (u *upload) size() int {
	if u.large {
		return max(largeUpload, u.x.c.opt.WriteBufferSize)
	}
	return max(uploadBuffer, u.x.c.opt.WriteBufferSize)
}

// getBuffer takes a buffer of size.
func (u *upload) getBuffer() { u.buf = getBuffer(u.buffers(), chunkRoom+u.size()+chunkRoom) }

// buffers is where the buffer is from.
func (u *upload) buffers() *sync.Pool {
	if u.large {
		return &largeUploads
	}
	return &uploads
}

// grow takes a larger buffer once the body has filled the usual one a few times, with nothing
// left in it: a long body takes a quarter of the writes then.
func (u *upload) grow() {
	if u.large || u.full < fullUploads {
		return
	}
	putBuffer(u.buffers(), u.buf)
	u.large = true
	u.getBuffer()
}

// room returns where the body is read to.
func (u *upload) room() []byte { return u.buf.b[chunkRoom : chunkRoom+u.size()] }

// sendSized sends a body of length bytes and never more. One that turns out wrong is
// cut before its last piece, if that can be known without waiting, so that the peer
// doesn't take the request for complete.
func (u *upload) sendSized(length int64) error {
	for left := length; left > 0; {
		n, err := u.next()
		if err != nil && err != io.EOF {
			return err
		}
		left -= int64(n)
		if left < 0 || left > 0 && err == io.EOF {
			return wire.LengthError(length, length-left)
		}
		if err == io.EOF {
			return u.sendLast(u.room()[:n])
		}
		if left == 0 {
			u.take()
		}
		if err := u.write(u.room()[:n]); err != nil {
			return err
		}
	}
	u.sent()
	return u.checkTail(length)
}

// checkTail finds out whether the body had more than it said.
func (u *upload) checkTail(length int64) error {
	for {
		n, err := u.read(u.room()[:tailRoom])
		switch {
		case n > 0:
			return wire.LengthError(length, length+int64(n))
		case err == io.EOF:
			return u.closeBody()
		case err != nil:
			return err
		}
	}
}

// sendChunked sends each Read as a chunk of its own, at once: the peer may need it to
// go on.
func (u *upload) sendChunked() error {
	for {
		n, err := u.next()
		if err != nil && err != io.EOF {
			return err
		}
		out := u.chunk(n)
		if err == io.EOF {
			// The body is closed first: that may still set trailers, or fail.
			if err := u.closeBody(); err != nil {
				return err
			}
			return u.sendLast(appendLastChunk(out, &u.x.req))
		}
		if err := u.write(out); err != nil {
			return err
		}
	}
}

// chunk makes a chunk around the n bytes in room.
func (u *upload) chunk(n int) []byte {
	if n == 0 {
		return u.buf.b[:0]
	}
	var head [chunkRoom]byte
	h := append(strconv.AppendUint(head[:0], uint64(n), 16), "\r\n"...)
	start := chunkRoom - len(h)
	copy(u.buf.b[start:chunkRoom], h)
	return append(u.buf.b[start:chunkRoom+n], "\r\n"...)
}

// sendRaw sends the body as it is.
func (u *upload) sendRaw() error {
	for {
		n, err := u.next()
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF {
			return u.sendLast(u.room()[:n])
		}
		if err := u.write(u.room()[:n]); err != nil {
			return err
		}
	}
}

// sendLast closes the body, whose end was read, and sends what remains.
func (u *upload) sendLast(p []byte) error {
	if err := u.closeBody(); err != nil {
		return err
	}
	u.take()
	if err := u.write(p); err != nil {
		return err
	}
	u.sent()
	return nil
}

// next reads the next piece into room, or returns what the probe read.
func (u *upload) next() (int, error) {
	if r := u.first; r != nil {
		u.first = nil
		return r.n, r.err
	}
	u.grow()
	n, err := u.read(u.room())
	if n == u.size() {
		u.full++
	}
	return n, err
}

// write writes p. After a stop the connection is closed.
func (u *upload) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if !u.commit() {
		return errStopped
	}
	err := u.x.write(p)
	if err != nil {
		u.x.writeFailed(err)
		u.endSending()
		u.x.settle()
	}
	return err
}
