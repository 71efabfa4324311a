package scenario

import (
	"crypto/tls"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A census is a server's listener that counts which connections are open whenever it accepts
// one. A connection whose FIN or RST has arrived isn't, whether the server knows it or not: the
// client has closed it before it opened the next.
type census struct {
	net.Listener
	mu   sync.Mutex
	open map[*counted]struct{}
	most int
}

// A counted connection is one of a census.
type counted struct {
	*net.TCPConn
	by   *census
	once sync.Once
}

func newCensus(t *testing.T) *census {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &census{Listener: ln, open: make(map[*counted]struct{})}
}

func (c *census) Accept() (net.Conn, error) {
	nc, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	k := &counted{TCPConn: nc.(*net.TCPConn), by: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[k] = struct{}{}
	n := 0
	for o := range c.open {
		if !o.ended() {
			n++
		}
	}
	c.most = max(c.most, n)
	return k, nil
}

// peak is how many were open at most.
func (c *census) peak() int { c.mu.Lock(); defer c.mu.Unlock(); return c.most }

// ended tells whether the client's FIN or RST has arrived, also behind bytes that weren't read.
func (k *counted) ended() (yes bool) {
	rc, err := k.SyscallConn()
	if err != nil {
		return true
	}
	err = rc.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, _ := unix.Poll(p, 0)
		yes = n > 0 && p[0].Revents != 0
	})
	return yes || err != nil
}

func (k *counted) Close() error {
	k.once.Do(func() {
		k.by.mu.Lock()
		defer k.by.mu.Unlock()
		delete(k.by.open, k)
	})
	return k.TCPConn.Close()
}

// serveCounted serves hustle by what sp speaks, or by HTTP/1.1 where a request asks for an upgrade.
func (r *rig) serveCounted(sp speech) (url string, c *census) {
	r.t.Helper()
	c = newCensus(r.t)
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(sp.h2)
	p.SetUnencryptedHTTP2(sp.h2)
	s := &http.Server{Handler: http.HandlerFunc(hustle), Protocols: p, ErrorLog: log.New(io.Discard, "", 0),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 3}, TLSConfig: &tls.Config{Certificates: []tls.Certificate{identity().cert}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if sp.tls {
			s.ServeTLS(c, "", "")
		} else {
			s.Serve(c)
		}
	}()
	r.onEnd(func() { s.Close(); <-done })
	if sp.tls {
		return "https://" + c.Addr().String(), c
	}
	return "http://" + c.Addr().String(), c
}

// hustle answers each request in another way, by its n.
func hustle(w http.ResponseWriter, q *http.Request) {
	n, _ := strconv.Atoi(q.URL.Query().Get("n"))
	switch {
	case q.Header.Get("Upgrade") != "":
		switchFor(w, time.Duration(n)*time.Millisecond)
	case n == 0:
		io.Copy(io.Discard, q.Body)
		io.WriteString(w, "ok")
	case n == 1:
		w.Write(make([]byte, 50<<10))
	case n == 2: // soon
		time.Sleep(rand.N(3 * time.Millisecond))
	case n == 3: // late
		select {
		case <-q.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	case n == 4: // never
		panic(http.ErrAbortHandler)
	case n == 5:
		w.Header().Set("Connection", "close")
	}
}

// hustles is how many ways there are.
const hustles = 6

// switchFor switches protocols, and keeps the connection for as long as d.
func switchFor(w http.ResponseWriter, d time.Duration) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(d))
	io.Copy(io.Discard, c)
}
