package health

import (
	"crypto/tls"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watched calls Watch and returns a channel that gets a value per call of closed.
func watched(t testing.TB, c net.Conn) (*Watcher, chan struct{}) {
	t.Helper()
	calls := make(chan struct{}, 4)
	w := Watch(c, func() { calls <- struct{}{} })
	if w == nil {
		t.Fatal("Watch returns nil")
	}
	t.Cleanup(func() { w.Stop() })
	return w, calls
}

func wantCall(t testing.TB, calls <-chan struct{}) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(patience):
		t.Fatal("closed wasn't called")
	}
}

// wantNoCall is for after an event that would have caused the call: the goroutine serves
// events in order, so when a later one has been served, this one will not come.
func wantNoCall(t testing.TB, calls <-chan struct{}) {
	t.Helper()
	c, s := pair(t)
	_, later := watched(t, c)
	s.Close()
	wantCall(t, later)
	if len(calls) != 0 {
		t.Fatal("closed was called")
	}
}

func TestWatchTellsOfTheEnd(t *testing.T) {
	tests := []struct {
		name string
		act  func(server *net.TCPConn)
	}{
		{"FIN", func(s *net.TCPConn) { s.Close() }},
		{"half close", func(s *net.TCPConn) { s.CloseWrite() }},
		{"RST", func(s *net.TCPConn) { s.SetLinger(0); s.Close() }},
		{"data and FIN", func(s *net.TCPConn) { s.Write([]byte("x")); s.Close() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, server := pair(t)
			w, calls := watched(t, client)
			wantNoCall(t, calls)
			tt.act(server)
			wantCall(t, calls)
			if w.Stop() {
				t.Error("Stop says that it kept closed from being called")
			}
			reset(t, client) // another event on the same socket
			wantNoCall(t, calls)
		})
	}
}

func TestWatchOfAnEndThatHasCome(t *testing.T) {
	client, server := pair(t)
	server.Close()
	awaitEvent(t, client, unix.POLLIN)
	_, calls := watched(t, client)
	wantCall(t, calls)
}

func TestWatchLetsDataPass(t *testing.T) {
	client, server := pair(t)
	_, calls := watched(t, client)
	for range 100 {
		write(t, server, "answer")
		wantRead(t, client, "answer")
	}
	wantNoCall(t, calls)
	server.Close()
	wantCall(t, calls)
}

func TestWatchStop(t *testing.T) {
	client, server := pair(t)
	w, calls := watched(t, client)
	if !w.Stop() {
		t.Error("the first Stop is false")
	}
	if w.Stop() {
		t.Error("the second Stop is true")
	}
	server.Close()
	wantNoCall(t, calls)
	if (*Watcher)(nil).Stop() {
		t.Error("Stop of nil is true")
	}
}

func TestWatchAgain(t *testing.T) {
	client, server := pair(t)
	w, first := watched(t, client)
	if Watch(client, func() {}) != nil {
		t.Error("a connection can be watched twice")
	}
	w.Stop()
	_, second := watched(t, client)
	server.CloseWrite()
	wantCall(t, second)
	_, third := watched(t, client) // after it has fired
	wantCall(t, third)
	wantNoCall(t, first)
}

func TestWatchFindsTheSocket(t *testing.T) {
	p := newTLSPair(t, tls.VersionTLS13)
	bare, _, bareServer := bareTLS(t, tls.VersionTLS13)
	plain, plainServer := pair(t)
	uc, us := unixPair(t)
	for name, tt := range map[string]struct {
		c     net.Conn
		close func() error
	}{
		"TLSClient":  {p.client, p.serverRaw.Close},
		"crypto/tls": {bare, bareServer.NetConn().Close},
		"wrapper":    {unwrapping{plain}, plainServer.Close},
		"unix":       {uc, us.Close},
	} {
		t.Run(name, func(t *testing.T) {
			_, calls := watched(t, tt.c)
			wantNoCall(t, calls)
			tt.close()
			wantCall(t, calls)
		})
	}
}

func TestWatchOfNoSocket(t *testing.T) {
	memory, other := net.Pipe()
	defer memory.Close()
	defer other.Close()
	closed, _ := pair(t)
	closed.Close()
	for name, c := range map[string]net.Conn{"in memory": memory, "opaque": opaque{memory}, "closed": closed} {
		if Watch(c, func() {}) != nil {
			t.Errorf("%s: can be watched", name)
		}
	}
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if len(watches.byToken) != 0 {
		t.Errorf("%d watches are left", len(watches.byToken))
	}
}

// When a connection is closed and its descriptor given to the next one at once, the
// events of the one must not reach the other.
func TestWatchAndDescriptorsUsedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	servers := make(chan net.Conn, 1)
	go func() {
		defer close(servers)
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			servers <- s
		}
	}()
	dial := func() (net.Conn, net.Conn) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c, <-servers
	}
	live, liveServer := dial()
	for range 300 {
		var stopped, wrong atomic.Bool
		old, oldServer := dial()
		ow := Watch(old, func() {
			if stopped.Load() {
				wrong.Store(true)
			}
		})
		oldServer.Close() // the event races with what follows
		if ow.Stop() {
			stopped.Store(true) // from here on, a call is wrong
		}
		old.Close()
		live.Close()
		liveServer.Close()
		live, liveServer = dial()
		_, calls := watched(t, live)
		wantQuiet(t, calls, live)
		if wrong.Load() {
			t.Fatal("closed was called after Stop has said that it would not")
		}
	}
	live.Close()
	liveServer.Close()
}

// wantQuiet fails if the open connection c was reported closed.
func wantQuiet(t *testing.T, calls chan struct{}, c net.Conn) {
	t.Helper()
	wantLook(t, NewProbe(c).Look, Alive, nil)
	if len(calls) != 0 {
		t.Fatal("an open connection was reported closed")
	}
}

func TestWatchMassClose(t *testing.T) {
	const n = 2000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 2*n+200 {
		t.Skipf("needs %d descriptors", 2*n)
	}
	settle(t)
	goroutines, fds := runtime.NumGoroutine(), openFiles(t)
	calls := make(chan int, 2*n)
	clients, servers := make([]net.Conn, n), make([]net.Conn, n)
	ws := make([]*Watcher, n)
	for i := range n {
		clients[i], servers[i] = connect(t, "tcp", "127.0.0.1:0")
		ws[i] = Watch(clients[i], func() { calls <- i })
	}
	if got := runtime.NumGoroutine(); got > goroutines+1 {
		t.Errorf("%d watches take %d goroutines", n, got-goroutines)
	}
	start := time.Now()
	for _, s := range servers {
		s.Close()
	}
	seen := make(map[int]bool, n)
	for range n {
		select {
		case i := <-calls:
			seen[i] = true
		case <-time.After(patience):
			t.Fatalf("%d of %d closes were seen", len(seen), n)
		}
	}
	t.Logf("%d closes seen after %v", n, time.Since(start))
	if len(seen) != n || len(calls) != 0 {
		t.Errorf("%d connections reported, %d calls too many", len(seen), len(calls))
	}
	for i, c := range clients {
		ws[i].Stop()
		c.Close()
	}
	eventually(t, "goroutines and descriptors as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= fds
	})
}

// settle waits until nothing of earlier tests is left.
func settle(t *testing.T) {
	t.Helper()
	eventually(t, "no watcher runs", func() bool {
		watches.mu.Lock()
		defer watches.mu.Unlock()
		return watches.in == nil
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// The goroutine and its descriptor come and go with the watches.
func TestWatchStartsAndEnds(t *testing.T) {
	settle(t)
	client, server := pair(t)
	goroutines, fds := runtime.NumGoroutine(), openFiles(t)
	for range 2 {
		w := Watch(client, func() {})
		if got := openFiles(t); got != fds+1 {
			t.Errorf("a watch takes %d descriptors", got-fds)
		}
		start := time.Now()
		w.Stop()
		settle(t)
		if d := time.Since(start); d < lingering/2 {
			t.Errorf("the watcher ended after %v already", d)
		}
		eventually(t, "goroutines and descriptors as before", func() bool {
			return runtime.NumGoroutine() <= goroutines && openFiles(t) <= fds
		})
	}
	// And it still works.
	_, calls := watched(t, client)
	server.Close()
	wantCall(t, calls)
}

// A new watch within the time that the goroutine lingers keeps it.
func TestWatchLingers(t *testing.T) {
	settle(t)
	client, server := pair(t)
	w, _ := watched(t, client)
	in := instanceInUse()
	for range 10 {
		w.Stop()
		w, _ = watched(t, client)
	}
	if instanceInUse() != in {
		t.Error("the watcher was started again in between")
	}
	in.file.SetReadDeadline(time.Now()) // as if the time were over just now
	_, calls := watched(t, unwrapping{server})
	client.Close()
	w.Stop()
	wantCall(t, calls)
}

func instanceInUse() *instance {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	return watches.in
}

func TestStopFromWithinClosed(t *testing.T) {
	client, server := pair(t)
	done := make(chan bool, 1)
	ready := make(chan *Watcher, 1)
	w := Watch(client, func() { done <- (<-ready).Stop() })
	ready <- w
	server.Close()
	select {
	case stopped := <-done:
		if stopped {
			t.Error("Stop within closed says that it kept it from being called")
		}
	case <-time.After(patience):
		t.Fatal("closed hangs")
	}
}

// Many goroutines open, watch, stop and close, while the peers close too. Each watch ends in
// exactly one way.
func TestWatchUnderStress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := 0; ; i++ {
			s, err := l.Accept()
			if err != nil {
				return
			}
			if i%2 == 0 {
				s.Close()
			} else {
				defer s.Close()
			}
		}
	}()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				var calls atomic.Int32
				w := Watch(c, func() { calls.Add(1) })
				if w == nil {
					t.Error("Watch returns nil")
				}
				runtime.Gosched()
				stopped := w.Stop()
				c.Close()
				if n := calls.Load(); n > 1 || stopped && n != 0 {
					t.Errorf("Stop gives %v after %d calls", stopped, n)
				}
			}
		})
	}
	wg.Wait()
	l.Close()
}

// A descriptor that the kernel takes back must not leave a watcher that never fires and
// never ends.
func TestInstanceThatFails(t *testing.T) {
	settle(t)
	client, server := pair(t)
	_, _ = watched(t, client)
	in := instanceInUse()
	in.file.Close()
	settle(t)
	w, calls := watched(t, server)
	if instanceInUse() == in {
		t.Fatal("the failed instance is used again")
	}
	client.Close()
	wantCall(t, calls)
	w.Stop()
}
