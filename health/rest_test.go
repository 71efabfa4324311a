//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package health

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// A watchFunc is Watch, by one way or another.
type watchFunc func(c net.Conn, closed func()) *Watcher

// eachLookout runs f with the platform's own way to watch and with sweepers.
func eachLookout(t *testing.T, f func(t *testing.T, watch watchFunc)) {
	t.Run("own", func(t *testing.T) { f(t, Watch) })
	for name, look := range map[string]func(uintptr) (bool, bool){"sweeper": arrived, "peeking sweeper": peekArrived} {
		t.Run(name, func(t *testing.T) { f(t, newSweeper(t, look).watch) })
	}
}

// newSweeper returns a sweeper that the test leaves only when it has ended.
func newSweeper(t testing.TB, look func(uintptr) (bool, bool)) *sweeper {
	s := &sweeper{look: look, every: time.Millisecond}
	t.Cleanup(func() {
		eventually(t, "the sweeper has ended", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return !s.running && len(s.watchers) == 0
		})
	})
	return s
}

func (s *sweeper) watch(c net.Conn, closed func()) *Watcher {
	conn, _ := socketOf(c)
	if w := (&Watcher{closed: closed, conn: conn}); conn != nil && s.add(w) {
		return w
	}
	return nil
}

// A rester is a watched connection. Its channel has what was called.
type rester struct {
	*Watcher
	calls chan string
}

func newRester(t testing.TB, watch watchFunc, c net.Conn) *rester {
	t.Helper()
	r := &rester{calls: make(chan string, 100)}
	r.Watcher = watch(c, func() { r.calls <- "closed" })
	if r.Watcher == nil {
		t.Fatal("the connection can't be watched")
	}
	t.Cleanup(func() { r.Stop() })
	return r
}

func (r *rester) rest(t testing.TB) {
	t.Helper()
	if !r.Rest(func() { r.calls <- "arrived" }) {
		t.Fatal("Rest refuses")
	}
}

func (r *rester) want(t testing.TB, call string) {
	t.Helper()
	if got := <-r.calls; got != call {
		t.Fatalf("%s was called, want %s", got, call)
	}
}

// wantNothing is for after an event that could have caused a call: a later one on another
// connection is served after it.
func (r *rester) wantNothing(t testing.TB, watch watchFunc) {
	t.Helper()
	for range 2 { // a sweep that is under way may have passed r's place
		c, s := pair(t)
		later := newRester(t, watch, c)
		s.Close()
		later.want(t, "closed")
	}
	select {
	case got := <-r.calls:
		t.Fatalf("%s was called", got)
	default:
	}
}

func TestRest(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		client, server := pair(t)
		r := newRester(t, watch, client)
		write(t, server, "one") // nobody rests yet
		r.wantNothing(t, watch)
		r.rest(t) // bytes are there already
		r.want(t, "arrived")
		write(t, server, "two")
		r.wantNothing(t, watch)
		wantRead(t, client, "onetwo")

		r.rest(t)
		r.rest(t) // in place of the one before
		r.wantNothing(t, watch)
		write(t, server, "three")
		r.want(t, "arrived")
		r.wantNothing(t, watch)
		wantRead(t, client, "three")

		r.rest(t)
		server.Close()
		r.want(t, "closed")
		r.wantNothing(t, watch)
		if r.Rest(func() {}) {
			t.Error("Rest after the end")
		}
	})
}

func TestRestAndTheEnds(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"FIN": func(c *net.TCPConn) { c.CloseWrite() },
		"RST": func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			eachLookout(t, func(t *testing.T, watch watchFunc) {
				client, server := pair(t)
				r := newRester(t, watch, client)
				r.rest(t)
				end(server)
				r.want(t, "closed")
				r.wantNothing(t, watch)
			})
		})
	}
}

// The end must be told whether the connection rested before or not.
func TestTheEndAfterARest(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		client, server := pair(t)
		r := newRester(t, watch, client)
		r.rest(t)
		write(t, server, "x")
		r.want(t, "arrived")
		wantRead(t, client, "x")
		server.Close()
		r.want(t, "closed")
	})
}

func TestRestAfterStop(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		client, server := pair(t)
		r := newRester(t, watch, client)
		r.rest(t)
		if !r.Stop() || r.Rest(func() {}) {
			t.Error("Stop is false, or Rest after it true")
		}
		write(t, server, "x")
		r.wantNothing(t, watch)
		again := newRester(t, watch, client)
		again.rest(t)
		again.want(t, "arrived")
	})
	if (*Watcher)(nil).Rest(func() {}) {
		t.Error("Rest of nil is true")
	}
}

// What a TLS layer says comes as bytes: the look that follows knows tickets from the end.
func TestRestOfTLS(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		p := newTLSPair(t, tls.VersionTLS13, lateTickets)
		r := newRester(t, watch, p.client)
		r.rest(t)
		r.want(t, "arrived")
		wantLook(t, p.client.Look, Alive, nil) // it was the ticket
		r.rest(t)
		r.wantNothing(t, watch)
		p.server.CloseWrite() // and no FIN
		r.want(t, "arrived")
		wantCause(t, p.client.Look, CauseCloseNotify)
	})
}

// What arrives on a connection in use is nobody's business, and its end is.
func TestUse(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		client, server := pair(t)
		r := newRester(t, watch, client)
		r.Use()
		for range 10 {
			r.rest(t)
			r.Use()
			write(t, server, "answer")
			r.wantNothing(t, watch)
			wantRead(t, client, "answer")
		}
		r.rest(t)
		r.Use()
		server.Close()
		r.want(t, "closed")
		r.Use()
		r.Stop()
		r.Use()
	})
	(*Watcher)(nil).Use()
}

// Rest from within arrived, as who has looked and found no more than tickets does it.
func TestRestAgain(t *testing.T) {
	eachLookout(t, func(t *testing.T, watch watchFunc) {
		p := newTLSPair(t, tls.VersionTLS13, lateTickets)
		r := newRester(t, watch, p.client)
		found := make(chan error, 10)
		var arrived func()
		arrived = func() {
			v, err := p.client.Look()
			if v == Alive {
				r.Rest(arrived)
			}
			found <- err
		}
		r.Rest(arrived)
		if err := <-found; err != nil {
			t.Fatalf("a ticket is %v", err)
		}
		p.server.CloseWrite()
		if err := <-found; CauseOf(err) != CauseCloseNotify {
			t.Fatalf("a close_notify is %v", err)
		}
	})
}
