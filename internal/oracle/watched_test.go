package oracle

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/net/http2"
)

// alertRecord is the size of a TLS 1.3 alert on the wire: 5 bytes of header, 2 of alert, 1 of
// type, and a tag of 16. No record with a request in it is that short.
const alertRecord = 5 + 2 + 1 + 16

// A watched connection counts at the client what the kernel accepts, below TLS. It counts no
// alerts, with which TLS says goodbye.
type watched struct {
	net.Conn
	tcp      *net.TCPConn
	proto    proto
	accepted atomic.Int64 // bytes
	frames   frames       // without TLS
}

// dialWatched is for http.Transport.DialContext.
func (p proto) dialWatched(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: c, tcp: c.(*net.TCPConn), proto: p}, nil
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if n > 0 && !(w.proto.tls && len(p) == alertRecord) {
		w.accepted.Add(int64(n))
	}
	if w.proto.h2 && !w.proto.tls {
		w.frames.take(p[:n])
	}
	return n, err
}

// SyscallConn lets health look at the socket, as it does without a wrapper.
func (w *watched) SyscallConn() (syscall.RawConn, error) { return w.tcp.SyscallConn() }

func (w *watched) CloseWrite() error { return w.tcp.CloseWrite() }

// watchedBelow finds the watched connection below c, nil if there is none.
func watchedBelow(c net.Conn) *watched {
	for {
		switch under := c.(type) {
		case *watched:
			return under
		case interface{ NetConn() net.Conn }:
			c = under.NetConn()
		default:
			return nil
		}
	}
}

// frames counts the streams that an HTTP/2 client opens. One goroutine at a time writes to
// a connection; another reads the counts when all is over.
type frames struct {
	skip  int    // bytes of the frame, or preface, to come
	begun bool   // the preface was seen
	head  []byte // of the next frame, as far as it has come
	heads atomic.Int32
	torn  atomic.Bool // a frame's head was accepted in part: it may be of a stream
}

const frameHead = 9

func (f *frames) take(p []byte) {
	if !f.begun {
		f.begun, f.skip = true, len(http2.ClientPreface)
	}
	for len(p) > 0 {
		if n := min(f.skip, len(p)); n > 0 {
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		n := min(frameHead-len(f.head), len(p))
		f.head, p = append(f.head, p[:n]...), p[n:]
		if len(f.head) == frameHead {
			f.skip = int(binary.BigEndian.Uint32(f.head) >> 8)
			if http2.FrameType(f.head[3]) == http2.FrameHeaders {
				f.heads.Add(1)
			}
			f.head = f.head[:0]
		}
	}
	f.torn.Store(len(f.head) > 0)
}
