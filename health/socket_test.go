//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"bytes"
	"io"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSocketTellsWhatHasArrived(t *testing.T) {
	tests := []struct {
		name   string
		act    func(t *testing.T, client, server *net.TCPConn)
		want   Verdict
		reason error
	}{
		{"nothing", func(*testing.T, *net.TCPConn, *net.TCPConn) {}, Alive, nil},
		{"FIN", func(t *testing.T, c, s *net.TCPConn) {
			s.Close()
			awaitEvent(t, c, unix.POLLIN)
		}, Dead, io.EOF},
		{"half close", func(t *testing.T, c, s *net.TCPConn) {
			s.CloseWrite()
			awaitEvent(t, c, unix.POLLIN)
		}, Dead, io.EOF},
		{"RST", func(t *testing.T, c, s *net.TCPConn) {
			reset(t, s)
			awaitEvent(t, c, unix.POLLIN)
		}, Dead, syscall.ECONNRESET},
		{"data", func(t *testing.T, c, s *net.TCPConn) {
			write(t, s, "x")
			awaitEvent(t, c, unix.POLLIN)
		}, Dead, ErrSurplus},
		{"data and FIN", func(t *testing.T, c, s *net.TCPConn) {
			write(t, s, "HTTP/1.1 408 Request Timeout\r\n\r\n")
			s.Close()
			awaitEvent(t, c, unix.POLLIN)
		}, Dead, ErrSurplus},
		{"data read", func(t *testing.T, c, s *net.TCPConn) {
			write(t, s, "answer")
			wantRead(t, c, "answer")
		}, Alive, nil},
		{"closed here", func(t *testing.T, c, s *net.TCPConn) { c.Close() }, Dead, net.ErrClosed},
		{"writing side closed here", func(t *testing.T, c, s *net.TCPConn) { c.CloseWrite() }, Alive, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, server := pair(t)
			tt.act(t, client, server)
			wantLook(t, func() (Verdict, error) { return Socket(client) }, tt.want, tt.reason)
		})
	}
}

func TestSocketConsumesNothing(t *testing.T) {
	client, server := pair(t)
	write(t, server, "kept")
	awaitQueued(t, client, 4)
	for range 3 {
		wantLook(t, func() (Verdict, error) { return Socket(client) }, Dead, ErrSurplus)
	}
	wantRead(t, client, "kept")
	wantLook(t, func() (Verdict, error) { return Socket(client) }, Alive, nil)
}

func TestSocketOnUnixSockets(t *testing.T) {
	client, server := unixPair(t)
	p := NewProbe(client)
	wantLook(t, p.Look, Alive, nil)
	write(t, server, "x")
	wantLook(t, p.Look, Dead, ErrSurplus)
	wantRead(t, client, "x")
	server.Close()
	wantLook(t, p.Look, Dead, io.EOF)
}

// Wrappers as people write them.
type (
	unwrapping struct{ net.Conn }     // says what it wraps
	opaque     struct{ net.Conn }     // doesn't
	embedding  struct{ *net.TCPConn } // has all of the socket's methods
	looking    struct {
		net.Conn
		v   Verdict
		err error
	}
	cyclic struct{ net.Conn }
)

func (u unwrapping) NetConn() net.Conn   { return u.Conn }
func (l looking) Look() (Verdict, error) { return l.v, l.err }
func (c *cyclic) NetConn() net.Conn      { return c }

func TestSocketFindsTheSocket(t *testing.T) {
	client, server := pair(t)
	memory, other := net.Pipe()
	defer memory.Close()
	defer other.Close()
	write(t, server, "x")
	awaitEvent(t, client, unix.POLLIN)
	tests := []struct {
		name   string
		c      net.Conn
		want   Verdict
		reason error
	}{
		{"wrapped once", unwrapping{client}, Dead, ErrSurplus},
		{"wrapped thrice", unwrapping{unwrapping{unwrapping{client}}}, Dead, ErrSurplus},
		{"embedded", embedding{client}, Dead, ErrSurplus},
		{"wrapped without a way down", opaque{client}, Unknown, errNoSocket},
		{"wrapper of nothing", unwrapping{nil}, Unknown, errNoSocket},
		{"wrapper of itself", &cyclic{}, Unknown, errNoSocket},
		{"in memory", memory, Unknown, errNoSocket},
		{"looks at itself", looking{client, Dead, io.ErrClosedPipe}, Dead, io.ErrClosedPipe},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantLook(t, func() (Verdict, error) { return Socket(tt.c) }, tt.want, tt.reason)
		})
	}
}

// A Look has to say what is, not what an earlier one found.
func TestProbeSeesTheChange(t *testing.T) {
	client, server := pair(t)
	p := NewProbe(unwrapping{client})
	for range 3 {
		wantLook(t, p.Look, Alive, nil)
		write(t, server, "answer")
		awaitQueued(t, client, 6)
		wantLook(t, p.Look, Dead, ErrSurplus)
		wantRead(t, client, "answer")
	}
	server.Close()
	awaitEvent(t, client, unix.POLLIN)
	wantLook(t, p.Look, Dead, io.EOF)
}

func TestJudge(t *testing.T) {
	tests := []struct {
		n      int
		err    error
		want   Verdict
		reason error
	}{
		{0, nil, Dead, io.EOF},
		{1, nil, Dead, ErrSurplus},
		{0, syscall.EAGAIN, Alive, nil},
		{0, syscall.ECONNRESET, Dead, syscall.ECONNRESET},
		{0, syscall.ETIMEDOUT, Dead, syscall.ETIMEDOUT}, // keep-alive probes unanswered
		{0, syscall.EHOSTUNREACH, Dead, syscall.EHOSTUNREACH},
		{0, syscall.ENOTSOCK, Unknown, syscall.ENOTSOCK},
		{0, syscall.ENOBUFS, Unknown, syscall.ENOBUFS},
	}
	for _, tt := range tests {
		if v, err := judge(tt.n, tt.err); v != tt.want || !isReason(err, tt.reason) {
			t.Errorf("judge(%d, %v) = %v, %v; want %v, %v", tt.n, tt.err, v, err, tt.want, tt.reason)
		}
	}
}

func TestVerdictString(t *testing.T) {
	var b bytes.Buffer
	for v := range Verdict(4) {
		b.WriteString(v.String() + " ")
	}
	if got, want := b.String(), "unknown alive dead verdict 3 "; got != want {
		t.Errorf("names are %q, want %q", got, want)
	}
}
