package scenario

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// A relay stands between clients and a peer and passes on what comes, a FIN as a FIN and
// an RST as an RST. It can forget the flows that there are, as a NAT or a load balancer
// does: their bytes are taken and dropped, and nobody is told.
type relay struct {
	addr    string // where it listens
	to      string
	dropped atomic.Int64 // bytes of forgotten flows

	ln net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	flows map[*flow]struct{}
}

// A flow is a client's connection and the one that the relay made for it.
type flow struct {
	client, server net.Conn
	from           io.Reader // client, or what was read ahead of it
	forgotten      atomic.Bool
}

// relay starts one that listens on TCP.
func (r *rig) relay(to string) *relay {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	return r.relayOn(ln, to)
}

// unixRelay starts one that listens on a Unix socket.
func (r *rig) unixRelay(to string) *relay {
	r.t.Helper()
	dir, err := os.MkdirTemp("", "") // a test's own directory may have too long a name
	if err != nil {
		r.t.Fatal(err)
	}
	r.onEnd(func() { os.RemoveAll(dir) })
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		r.t.Fatal(err)
	}
	return r.relayOn(ln, to)
}

func (r *rig) relayOn(ln net.Listener, to string) *relay {
	l := &relay{addr: ln.Addr().String(), to: to, ln: ln, flows: make(map[*flow]struct{})}
	l.wg.Go(l.accept)
	r.onEnd(l.end)
	return l
}

func (l *relay) accept() {
	for {
		c, err := l.ln.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.join(c, c) })
	}
}

// join makes a flow of a client's connection, from which from reads, and passes it on until
// both ends are through.
func (l *relay) join(client net.Conn, from io.Reader) {
	defer client.Close()
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer server.Close()
	f := &flow{client: client, server: server, from: from}
	l.mu.Lock()
	l.flows[f] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.flows, f)
		l.mu.Unlock()
	}()
	var wg sync.WaitGroup
	wg.Go(func() { l.pass(f, f.from, server) })
	wg.Go(func() { l.pass(f, server, client) })
	wg.Wait()
}

func (l *relay) pass(f *flow, from io.Reader, to net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if f.forgotten.Load() {
			l.dropped.Add(int64(n))
			if err != nil { // nothing is left to test
				f.client.Close()
				f.server.Close()
				return
			}
			continue
		}
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			hangUp(to, err == io.EOF)
			return
		}
	}
}

// hangUp ends the writing side of a connection, or resets it.
func hangUp(c net.Conn, fin bool) {
	if cw, ok := c.(interface{ CloseWrite() error }); ok && fin {
		cw.CloseWrite()
		if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS says so, and TCP too
			hangUp(t.NetConn(), fin)
		}
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

// forget makes the flows that there are silent, and returns how many.
func (l *relay) forget() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.flows {
		f.forgotten.Store(true)
	}
	return len(l.flows)
}

func (l *relay) end() {
	l.ln.Close()
	l.mu.Lock()
	for f := range l.flows {
		f.client.Close()
		f.server.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// tunnel starts an HTTP proxy, spoken to in mode m, whose tunnels all lead to one peer.
func (r *rig) tunnel(m mode, to string) *rawPeer {
	r.t.Helper()
	l := &relay{to: to, flows: make(map[*flow]struct{})}
	return r.peerIn(m, func(c *peerConn) {
		req, err := http.ReadRequest(c.br)
		if err != nil || req.Method != http.MethodConnect {
			return
		}
		c.say("HTTP/1.1 200 OK\r\n\r\n")
		l.join(c.Conn, bufio.NewReader(c.br))
	})
}
