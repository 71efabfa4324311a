package scenario

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A script plays the server on one connection. The connection is closed when it returns.
type script func(*peerConn)

// A rawPeer listens on loopback and plays a script on each connection. It counts the
// requests that it received completely, and knows what each body has to be.
type rawPeer struct {
	url  string // "http://127.0.0.1:port" or with https
	addr string
	over chan struct{} // closed when the test's transports are
	gate chan struct{} // for scripts that wait for their test

	ln net.Listener
	wg sync.WaitGroup

	mu       sync.Mutex
	accepted int
	open     map[*peerConn]struct{}
	got      map[string]int // complete requests by id
	total    int
	wrong    []string // ids whose body wasn't what the client had to send
}

// A peerConn is a script's connection.
type peerConn struct {
	net.Conn // TLS if the rig's mode is, else the socket
	tcp      *net.TCPConn
	br       *bufio.Reader
	peer     *rawPeer
	num      int // in the order of acceptance, from 0
}

// peer starts a peer in the rig's mode, and ends it after the rig's transports.
func (r *rig) peer(s script) *rawPeer {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	p := &rawPeer{
		url: "http://" + ln.Addr().String(), addr: ln.Addr().String(), over: make(chan struct{}), gate: make(chan struct{}),
		ln: ln, open: make(map[*peerConn]struct{}), got: make(map[string]int),
	}
	var conf *tls.Config
	if r.mode.tls {
		p.url = "https" + strings.TrimPrefix(p.url, "http")
		conf = &tls.Config{Certificates: []tls.Certificate{identity().cert}, NextProtos: []string{"http/1.1"}}
	}
	p.wg.Go(func() { p.accept(conf, s) })
	r.onEnd(func() { p.end(r) })
	return p
}

func (p *rawPeer) accept(conf *tls.Config, s script) {
	for {
		nc, err := p.ln.Accept()
		if err != nil {
			return
		}
		c := &peerConn{Conn: nc, tcp: nc.(*net.TCPConn), peer: p}
		p.mu.Lock()
		c.num = p.accepted
		p.accepted++
		p.open[c] = struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { c.play(conf, s) })
	}
}

func (c *peerConn) play(conf *tls.Config, s script) {
	defer func() {
		c.tcp.Close()
		c.peer.mu.Lock()
		delete(c.peer.open, c)
		c.peer.mu.Unlock()
	}()
	if conf != nil {
		t := tls.Server(c.tcp, conf)
		if t.Handshake() != nil {
			return
		}
		c.Conn = t
	}
	c.br = bufio.NewReader(c.Conn)
	s(c)
}

// end waits for the scripts, which see that the client has closed, and complains about
// those that don't: their connections were left open.
func (p *rawPeer) end(r *rig) {
	r.t.Helper()
	close(p.over)
	p.ln.Close()
	done := make(chan struct{})
	go func() { p.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(restTime):
		p.mu.Lock()
		r.t.Errorf("%v after Close %d connections are open at the peer", restTime, len(p.open))
		for c := range p.open {
			c.tcp.Close()
		}
		p.mu.Unlock()
		<-done
	}
	if len(p.wrong) > 0 {
		r.t.Errorf("wrong bodies arrived with the requests %v", p.wrong)
	}
}

// opened is how many connections are open, conns how many were accepted, received how many complete requests
// came on them, and count how often the one with this id came.
func (p *rawPeer) opened() int         { p.mu.Lock(); defer p.mu.Unlock(); return len(p.open) }
func (p *rawPeer) conns() int          { p.mu.Lock(); defer p.mu.Unlock(); return p.accepted }
func (p *rawPeer) received() int       { p.mu.Lock(); defer p.mu.Unlock(); return p.total }
func (p *rawPeer) count(id string) int { p.mu.Lock(); defer p.mu.Unlock(); return p.got[id] }

// twice are the ids that came more than once.
func (p *rawPeer) twice() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, n := range p.got {
		if n > 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// A received is a complete request.
type received struct {
	*http.Request
	id   string
	body string
}

// request reads a whole request and counts it.
func (c *peerConn) request() (*received, error) {
	req, err := http.ReadRequest(c.br)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	q := &received{req, req.Header.Get(idHeader), string(b)}
	c.peer.mu.Lock()
	defer c.peer.mu.Unlock()
	c.peer.got[q.id]++
	c.peer.total++
	if want := req.Header.Get(bodyHeader); q.body != want {
		c.peer.wrong = append(c.peer.wrong, q.id)
	}
	return q, nil
}

// answer writes a 200 with q's id in its body, in one Write. Fields are whole lines
// without their end.
func (c *peerConn) answer(q *received, fields ...string) error {
	_, err := io.WriteString(c, answerText(q.id, fields...))
	return err
}

func answerText(id string, fields ...string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s", len(id), strings.Join(append(fields, ""), "\r\n"), id)
}

// serve answers requests until the connection ends.
func (c *peerConn) serve() {
	for q, err := c.request(); err == nil; q, err = c.request() {
		if c.answer(q) != nil {
			return
		}
	}
}

// drain reads until the client closes.
func (c *peerConn) drain() { io.Copy(io.Discard, c.br) }

// An ending is how a peer closes a connection.
type ending struct {
	name  string
	close func(*peerConn)
}

// endings are FIN (with a close_notify under TLS), a FIN alone, and RST.
var endings = []ending{
	{"FIN", func(c *peerConn) { c.Conn.Close() }},
	{"bare FIN", func(c *peerConn) { c.tcp.Close() }},
	{"RST", func(c *peerConn) { c.tcp.SetLinger(0); c.tcp.Close() }},
}

// eachEnding runs test over plain connections and TLS, with each ending that differs there.
func eachEnding(t *testing.T, test func(*testing.T, *rig, ending)) {
	t.Helper()
	eachMode(t, func(t *testing.T, r *rig) {
		for _, end := range endings {
			if end.name != "bare FIN" || r.mode.tls {
				t.Run(end.name, func(t *testing.T) { test(t, newRig(t, r.mode), end) })
			}
		}
	})
}
