//go:build sidecar && linux

package sidecartest

import (
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	restartEvery = time.Second
	downTime     = 20 * time.Millisecond // of a restart: connections are refused
	maxWork      = 6 * time.Millisecond  // before a request is executed, and again before its answer
)

// A frontEnd is an HTTPS server that does everything wrong that it may: it closes connections that
// were idle for 200 to 600 ms, without a close_notify, and every second all of them, in the middle
// of requests too. What it has read is executed all the same, as behind a front-end that is
// restarted the application goes on.
type frontEnd struct {
	t    *testing.T
	addr string
	tls  *tls.Config
	stop chan struct{}
	once sync.Once
	wg   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	srv      *http.Server
	idle     map[net.Conn]*time.Timer
	executed map[string]int // by path
	broken   int            // bodies that weren't what the path says
	active   int            // requests
	seen     events
}

// events are how often the front-end did what it does.
type events struct{ restarts, cut, idleCloses, requests int }

func startFrontEnd(t *testing.T, f files) *frontEnd {
	t.Helper()
	fe := &frontEnd{
		t: t, tls: &tls.Config{Certificates: []tls.Certificate{f.authority.Certificate()}},
		stop: make(chan struct{}), idle: make(map[net.Conn]*time.Timer), executed: make(map[string]int),
	}
	fe.addr = "127.0.0.1:0"
	if err := fe.listen(); err != nil {
		t.Fatal(err)
	}
	fe.wg.Go(fe.restarts)
	t.Cleanup(fe.close)
	return fe
}

func (fe *frontEnd) url() string { return "https://" + fe.addr }

// listen serves on the same port again.
func (fe *frontEnd) listen() error {
	ln, err := net.Listen("tcp", fe.addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: fe, ConnState: fe.connState}
	fe.mu.Lock()
	fe.addr, fe.srv = ln.Addr().String(), srv
	fe.mu.Unlock()
	fe.wg.Go(func() {
		if err := srv.Serve(bareListener{ln, fe.tls}); !errors.Is(err, http.ErrServerClosed) {
			fe.t.Errorf("front-end: %v", err)
		}
	})
	return nil
}

func (fe *frontEnd) restarts() {
	for pause(restartEvery, fe.stop) {
		fe.mu.Lock()
		fe.seen.restarts++
		fe.seen.cut += fe.active
		srv := fe.srv
		fe.mu.Unlock()
		_ = srv.Close() // of a listener and connections: nothing to be done about it
		if !pause(downTime, fe.stop) {
			return
		}
		if err := fe.listen(); err != nil {
			fe.t.Errorf("front-end: %v", err)
			return
		}
	}
}

// close ends the front-end when what it has read is executed. It may be called again.
func (fe *frontEnd) close() {
	fe.once.Do(func() { close(fe.stop) })
	fe.mu.Lock()
	srv := fe.srv
	fe.mu.Unlock()
	_ = srv.Close()
	fe.wg.Wait()
}

// connState closes a connection that is idle for a while. The connections count as the
// front-end's goroutines, as each ends after its last request.
func (fe *frontEnd) connState(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		fe.wg.Add(1)
	case http.StateClosed:
		defer fe.wg.Done()
	}
	fe.mu.Lock()
	defer fe.mu.Unlock()
	if timer := fe.idle[c]; timer != nil {
		timer.Stop()
		delete(fe.idle, c)
	}
	if s != http.StateIdle {
		return
	}
	after := 200*time.Millisecond + rand.N(400*time.Millisecond)
	fe.idle[c] = time.AfterFunc(after, func() {
		fe.mu.Lock()
		fe.seen.idleCloses++
		fe.mu.Unlock()
		_ = c.Close() // a client that closed it before has lost nothing
	})
}

// ServeHTTP executes a request once it's there whole, whether or not the client is.
func (fe *frontEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fe.count(func() { fe.active++; fe.seen.requests++ })
	defer fe.count(func() { fe.active-- })
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	pause(rand.N(maxWork), fe.stop)
	fe.count(func() {
		fe.executed[r.URL.Path]++
		if r.Method == http.MethodPost && string(body) != strings.Repeat(r.URL.Path, 20) {
			fe.broken++
		}
	})
	pause(rand.N(maxWork), fe.stop)
	_, _ = io.WriteString(w, r.URL.Path) // the client may be gone
}

func (fe *frontEnd) count(add func()) {
	fe.mu.Lock()
	defer fe.mu.Unlock()
	add()
}

// A bareListener accepts TLS connections that Close ends with a bare FIN: without a close_notify,
// and with an RST if there is something unread.
type bareListener struct {
	net.Listener
	tls *tls.Config
}

func (l bareListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &bareConn{tls.Server(raw, l.tls), raw}, nil
}

type bareConn struct {
	net.Conn // with TLS
	raw      net.Conn
}

func (c *bareConn) Close() error { return c.raw.Close() }
