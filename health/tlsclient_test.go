//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var versions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

// A gate is the server's raw connection. Closed, it keeps what TLS writes.
type gate struct {
	*net.TCPConn
	mu     sync.Mutex
	closed bool
	kept   bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return g.kept.Write(p)
	}
	return g.TCPConn.Write(p)
}

// hold returns what f writes, unsent.
func (g *gate) hold(f func()) []byte {
	g.set(true)
	f()
	g.set(false)
	b := bytes.Clone(g.kept.Bytes())
	g.kept.Reset()
	return b
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

// tlsPair returns both ends after the handshake, and the raw ends.
type tlsPair struct {
	client    *TLSClient
	raw       *net.TCPConn
	server    *tls.Conn
	serverRaw *gate
}

func newTLSPair(t testing.TB, version uint16, change ...func(client, server *tls.Config)) *tlsPair {
	t.Helper()
	raw, serverRaw := pair(t)
	cc, sc := clientConfig(t), serverConfig(t)
	sc.MinVersion, sc.MaxVersion = version, version
	for _, f := range change {
		f(cc, sc)
	}
	p := &tlsPair{raw: raw, serverRaw: &gate{TCPConn: serverRaw}}
	p.client = NewTLSClient(raw, cc)
	p.server = tls.Server(p.serverRaw, sc)
	shake(t, p.client, p.server)
	return p
}

// lateTickets makes the server send its tickets behind the client's part of the handshake,
// and not with its own, where the client's handshake takes them from the socket.
func lateTickets(_, server *tls.Config) { server.ClientAuth = tls.RequestClientCert }

// wantUsable proves that no look has harmed the connection.
func (p *tlsPair) wantUsable(t testing.TB) {
	t.Helper()
	write(t, p.client, "request")
	wantRead(t, p.server, "request")
	write(t, p.server, "answer")
	wantRead(t, p.client, "answer")
	wantLook(t, p.client.Look, Alive, nil)
}

func TestTLSClientLooksThrough(t *testing.T) {
	tests := []struct {
		name   string
		act    func(t *testing.T, p *tlsPair)
		want   Verdict
		reason error
	}{
		{"nothing", func(*testing.T, *tlsPair) {}, Alive, nil},
		{"close_notify", func(t *testing.T, p *tlsPair) { p.server.CloseWrite() }, Dead, io.EOF},
		{"close_notify and FIN", func(t *testing.T, p *tlsPair) { p.server.Close() }, Dead, io.EOF},
		{"FIN without close_notify", func(t *testing.T, p *tlsPair) { p.serverRaw.Close() }, Dead, io.EOF},
		{"RST", func(t *testing.T, p *tlsPair) { reset(t, p.serverRaw.TCPConn) }, Dead, syscall.ECONNRESET},
		{"data", func(t *testing.T, p *tlsPair) { write(t, p.server, "surplus") }, Dead, ErrSurplus},
		{"FIN within a record", func(t *testing.T, p *tlsPair) {
			record := p.serverRaw.hold(func() { write(t, p.server, "x") })
			write(t, p.serverRaw, string(record[:7]))
			p.serverRaw.Close()
			awaitQueued(t, p.raw, 7)
		}, Dead, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		for name, version := range versions {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				p := newTLSPair(t, version)
				p.wantUsable(t)
				tt.act(t, p)
				if tt.want != Alive {
					awaitEvent(t, p.raw, unix.POLLIN)
				}
				wantLook(t, p.client.Look, tt.want, tt.reason)
				if tt.want == Alive {
					p.wantUsable(t)
				}
			})
		}
	}
}

// The session ticket of TLS 1.3 comes behind the handshake, as records that look like data.
func TestTicketsAreNoSurplus(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13, lateTickets)
	awaitEvent(t, p.raw, unix.POLLIN)
	wantLook(t, func() (Verdict, error) { return Socket(p.raw) }, Dead, ErrSurplus) // seen from below
	wantLook(t, p.client.Look, Alive, nil)
	wantLook(t, func() (Verdict, error) { return Socket(p.raw) }, Alive, nil) // taken out by the look
	p.wantUsable(t)
}

// And the look that takes them out gives them to the session cache.
func TestTicketsFoundByALookAreUsed(t *testing.T) {
	cache := tls.NewLRUClientSessionCache(1)
	for _, resumed := range []bool{false, true} {
		p := newTLSPair(t, tls.VersionTLS13, func(c, s *tls.Config) {
			c.ClientSessionCache = cache
			s.SetSessionTicketKeys([][32]byte{{1}})
			lateTickets(c, s)
		})
		if got := p.client.ConnectionState().DidResume; got != resumed {
			t.Fatalf("DidResume is %v, want %v", got, resumed)
		}
		if !resumed {
			awaitEvent(t, p.raw, unix.POLLIN)
		}
		wantLook(t, p.client.Look, Alive, nil)
	}
}

func TestSurplusIsReadByTheNextRead(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			p := newTLSPair(t, version)
			write(t, p.server, "surplus")
			awaitEvent(t, p.raw, unix.POLLIN)
			for range 3 {
				wantLook(t, p.client.Look, Dead, ErrSurplus)
			}
			if n, err := p.client.Read(nil); n != 0 || err != nil {
				t.Errorf("Read(nil) = %d, %v", n, err)
			}
			wantRead(t, p.client, "surplus")
			p.wantUsable(t)
		})
	}
}

// Data and its end in one segment: the end must not hide the data, nor be lost.
func TestSurplusWithCloseNotify(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	wantLook(t, p.client.Look, Alive, nil)
	b := p.serverRaw.hold(func() {
		write(t, p.server, "x")
		p.server.CloseWrite()
	})
	p.serverRaw.SetWriteDeadline(time.Time{}) // CloseWrite has set it
	write(t, p.serverRaw, string(b))
	awaitQueued(t, p.raw, len(b))
	wantLook(t, p.client.Look, Dead, ErrSurplus)
	wantRead(t, p.client, "x")
	if n, err := p.client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("behind the data: %d, %v; want EOF", n, err)
	}
	wantLook(t, p.client.Look, Dead, io.EOF)
}

// crypto/tls must keep the part of a record that a look finds, wherever it is cut.
func TestPartOfARecord(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			p := newTLSPair(t, version)
			p.wantUsable(t)
			for _, cut := range []int{1, 2, 3, 4, 5, 6, 20, -1} {
				record := p.serverRaw.hold(func() { write(t, p.server, "answer") })
				if cut < 0 {
					cut += len(record)
				}
				write(t, p.serverRaw, string(record[:cut]))
				awaitEvent(t, p.raw, unix.POLLIN)
				for range 2 {
					wantLook(t, p.client.Look, Dead, ErrSurplus)
				}
				write(t, p.serverRaw, string(record[cut:]))
				wantRead(t, p.client, "answer")
				p.wantUsable(t)
			}
		})
	}
}

// A look must neither wait for the handshake nor start it.
func TestLookBeforeTheHandshake(t *testing.T) {
	raw, server := pair(t)
	c := NewTLSClient(raw, clientConfig(t))
	wantLook(t, c.Look, Unknown, nil)
	wantLook(t, NewProbe(server).Look, Alive, nil) // no ClientHello was sent
	srv := tls.Server(server, serverConfig(t))
	done := make(chan error, 1)
	go func() { done <- srv.Handshake() }()
	write(t, c, "x") // makes the handshake
	wantRead(t, srv, "x")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantLook(t, c.Look, Alive, nil)
}

// Deadlines are for those who wait.
func TestLookIgnoresDeadlines(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	p.client.SetDeadline(time.Unix(1, 0))
	wantLook(t, p.client.Look, Alive, nil)
	wantLook(t, NewProbe(p.raw).Look, Alive, nil)
	p.client.SetDeadline(time.Time{})
	p.wantUsable(t)
}

func TestLookAfterClose(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	p.client.Close()
	wantLook(t, p.client.Look, Dead, net.ErrClosed)
}

// Close is called with a peer that takes nothing, and has to come back. crypto/tls alone
// would try for 5 s to send its close_notify.
func TestCloseDoesNotWait(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	fill(t, p.raw)
	start := time.Now()
	p.client.Close()
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("Close took %v", d)
	}
	wantLook(t, p.client.Look, Dead, net.ErrClosed)
}

func TestCloseSaysSo(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	p.client.Close()
	if _, err := p.server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the server reads %v, want EOF by a close_notify", err)
	}
}

func TestCloseWriteLeavesReading(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	if err := p.client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.server.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("the server reads %v, want EOF", err)
	}
	write(t, p.server, "answer")
	wantRead(t, p.client, "answer")
}

// fill writes to c, past TLS, until the kernel takes no more. Every 200 ms or so a probe of the
// peer's window makes a little room again, so what is to meet no room comes at once.
func fill(t *testing.T, c *net.TCPConn) {
	t.Helper()
	c.SetWriteBuffer(4096)
	b := make([]byte, 64<<10)
	for {
		c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := c.Write(b); err != nil {
			break
		}
	}
	c.SetWriteDeadline(time.Time{})
	rc, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	rc.Control(func(fd uintptr) {
		for err == nil || err == unix.EINTR {
			_, err = unix.Write(int(fd), b) // doesn't wait
		}
	})
}

// TLS within TLS is how a server is reached behind an https proxy.
func TestLookThroughTwoLayers(t *testing.T) {
	outer := newTLSPair(t, tls.VersionTLS13, lateTickets)
	client := NewTLSClient(outer.client, clientConfig(t))
	sc := serverConfig(t)
	lateTickets(nil, sc)
	server := tls.Server(outer.server, sc)
	shake(t, client, server)
	inner := &tlsPair{client: client, server: server}
	awaitEvent(t, outer.raw, unix.POLLIN) // a ticket of each layer
	wantLook(t, client.Look, Alive, nil)
	inner.wantUsable(t)

	record := outer.serverRaw.hold(func() { write(t, server, "surplus") })
	write(t, outer.serverRaw, string(record[:10]))
	awaitQueued(t, outer.raw, 10)
	wantLook(t, client.Look, Dead, ErrSurplus)
	write(t, outer.serverRaw, string(record[10:]))
	awaitQueued(t, outer.raw, len(record)-10)
	wantLook(t, client.Look, Dead, ErrSurplus)
	wantRead(t, client, "surplus")
	inner.wantUsable(t)

	server.CloseWrite() // the inner one only
	awaitEvent(t, outer.raw, unix.POLLIN)
	wantLook(t, client.Look, Dead, io.EOF)
}

// What can't be read without waiting is not read.
func TestTLSClientOverWrappers(t *testing.T) {
	raw, serverRaw := pair(t)
	client := NewTLSClient(unwrapping{raw}, clientConfig(t))
	sc := serverConfig(t)
	lateTickets(nil, sc)
	server := tls.Server(serverRaw, sc)
	shake(t, client, server)
	awaitEvent(t, raw, unix.POLLIN)
	wantLook(t, client.Look, Unknown, errPending) // a ticket, but who knows
	p := &tlsPair{client: client, server: server}
	write(t, server, "answer")
	wantRead(t, client, "answer")
	p.wantUsable(t)
	server.CloseWrite()
	awaitEvent(t, raw, unix.POLLIN)
	wantLook(t, client.Look, Dead, io.EOF)
	if client.NetConn() != (unwrapping{raw}) {
		t.Errorf("NetConn gives %T", client.NetConn())
	}
}

func TestTLSClientInMemory(t *testing.T) {
	raw, serverRaw := net.Pipe()
	client := NewTLSClient(raw, clientConfig(t))
	sc := serverConfig(t)
	sc.SessionTicketsDisabled = true // net.Pipe has no buffer to leave a ticket in
	server := tls.Server(serverRaw, sc)
	shake(t, client, server)
	wantLook(t, client.Look, Unknown, errNoSocket)
	go io.WriteString(server, "answer")
	wantRead(t, client, "answer")
	raw.Close()
	serverRaw.Close()
}

// With renegotiation allowed, a look keeps out of the layer.
func TestRenegotiationIsLeftAlone(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS12, func(c, _ *tls.Config) { c.Renegotiation = tls.RenegotiateFreelyAsClient })
	wantLook(t, p.client.Look, Alive, nil)
	record := p.serverRaw.hold(func() { write(t, p.server, "x") })
	write(t, p.serverRaw, string(record[:8]))
	awaitQueued(t, p.raw, 8)
	wantLook(t, p.client.Look, Dead, ErrSurplus)
	wantLook(t, NewProbe(p.raw).Look, Dead, ErrSurplus) // all of it is still in the socket
	write(t, p.serverRaw, string(record[8:]))
	wantRead(t, p.client, "x")
	p.wantUsable(t)
}

func TestHandshakeContextEnds(t *testing.T) {
	raw, _ := pair(t)
	c := NewTLSClient(raw, clientConfig(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.HandshakeContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("HandshakeContext returns %v", err)
	}
	wantLook(t, c.Look, Unknown, nil)
}

// Close may come from any goroutine, at any time.
func TestCloseBesideLook(t *testing.T) {
	for range 20 {
		p := newTLSPair(t, tls.VersionTLS13)
		var wg sync.WaitGroup
		wg.Go(func() {
			for v := Alive; v == Alive; {
				v, _ = p.client.Look()
			}
		})
		wg.Go(func() { p.client.Close() })
		wg.Wait()
		p.server.Close()
	}
}

func TestTLSClientAddresses(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	if p.client.LocalAddr() != p.raw.LocalAddr() || p.client.RemoteAddr() != p.raw.RemoteAddr() {
		t.Error("the addresses aren't those of the connection below")
	}
	if p.client.NetConn() != p.raw {
		t.Error("NetConn isn't the connection below")
	}
	if !p.client.TLS().ConnectionState().HandshakeComplete {
		t.Error("TLS isn't the connection of the handshake")
	}
}
