package health

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lingering is how long the watching goroutine outlives its last watch, so that a pool
// that closes one connection and opens the next doesn't start it anew each time.
const lingering = 200 * time.Millisecond

// The process's watches. The runtime's own poller asks for every arrival of data; this
// one is a second epoll instance that asks for hang-ups only, so that it sleeps while
// data flows. It is itself read through the runtime's poller and costs no thread.
var watches struct {
	mu sync.Mutex
	// byToken has the watches that have neither fired nor been stopped.
	byToken map[uint64]*Watcher
	// token is the last one given out. Tokens are never used twice, so an event that was
	// under way when its connection was closed can't meet the next one on its descriptor.
	token uint64
	// in is the instance in use; nil: none is running.
	in *instance
}

// A registration is what Linux needs to know of a watch.
type registration struct {
	token uint64
	conn  syscall.RawConn
	in    *instance
}

func watch(c net.Conn, closed func()) *Watcher {
	conn, _ := socketOf(c)
	if conn == nil {
		return nil
	}
	w := &Watcher{closed: closed, watch: registration{conn: conn}}
	if !w.enter() {
		return nil
	}
	if w.watch.in.add(conn, w.watch.token) != nil {
		w.leave()
		return nil
	}
	return w
}

// enter puts w into the table, which keeps an instance running for it.
func (w *Watcher) enter() bool {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if watches.in == nil {
		in, err := newInstance()
		if err != nil {
			return false
		}
		watches.in = in
		go in.run()
	}
	if len(watches.byToken) == 0 {
		watches.in.file.SetReadDeadline(time.Time{})
	}
	if watches.byToken == nil {
		watches.byToken = make(map[uint64]*Watcher)
	}
	watches.token++
	w.watch.token, w.watch.in = watches.token, watches.in
	watches.byToken[w.watch.token] = w
	return true
}

// leave takes w out of the table. Whoever does it decides what becomes of w: only the
// first call returns true.
func (w *Watcher) leave() bool {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if _, ok := watches.byToken[w.watch.token]; !ok {
		return false
	}
	delete(watches.byToken, w.watch.token)
	if len(watches.byToken) == 0 {
		watches.byToken = nil // a map keeps the memory of its largest size
		if watches.in != nil {
			watches.in.file.SetReadDeadline(time.Now().Add(lingering))
		}
	}
	return true
}

func (w *Watcher) stop() bool {
	if !w.leave() {
		return false
	}
	w.watch.in.remove(w.watch.conn)
	return true
}

// fire is called by the instance for an event with this token.
func fire(token uint64) {
	watches.mu.Lock()
	w := watches.byToken[token]
	watches.mu.Unlock()
	if w == nil || !w.leave() {
		return
	}
	w.watch.in.remove(w.watch.conn)
	w.closed()
}

// retire is called when the time is over, and ends in if nothing is watched any more.
func retire(in *instance) bool {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if len(watches.byToken) > 0 {
		in.file.SetReadDeadline(time.Time{})
		return false
	}
	if watches.in == in {
		watches.in = nil
	}
	in.file.Close()
	return true
}

// An instance is an epoll instance and the goroutine that waits on it.
type instance struct {
	file *os.File
	rc   syscall.RawConn
}

func newInstance() (*instance, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// A descriptor that doesn't block is what makes os.NewFile use the runtime's poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	in := &instance{file: os.NewFile(uintptr(fd), "epoll")}
	if in.rc, err = in.file.SyscallConn(); err == nil {
		err = in.file.SetReadDeadline(time.Time{}) // fails if the poller refused the descriptor
	}
	if err != nil {
		in.file.Close()
		return nil, err
	}
	return in, nil
}

func (in *instance) run() {
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := in.wait(events)
		for _, e := range events[:n] {
			fire(tokenOf(e))
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			in.fail()
			return
		}
		if retire(in) {
			return
		}
	}
}

// wait returns the events that have come, or os.ErrDeadlineExceeded when the instance has
// had nothing to watch for a while.
func (in *instance) wait(events []unix.EpollEvent) (n int, err error) {
	rerr := in.rc.Read(func(fd uintptr) bool {
		n, err = epollWait(int(fd), events)
		return n > 0 || err != nil
	})
	if rerr != nil {
		return 0, rerr
	}
	return n, err
}

func epollWait(fd int, events []unix.EpollEvent) (int, error) {
	for {
		n, err := unix.EpollWait(fd, events, 0)
		if err == unix.EINTR {
			continue
		}
		return max(n, 0), err
	}
}

// fail gives up an instance that the kernel no longer serves. Its watches never fire; the
// looks at the connections still find what they would have told.
func (in *instance) fail() {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	if watches.in == in {
		watches.in = nil
	}
	in.file.Close()
}

func (in *instance) add(conn syscall.RawConn, token uint64) error {
	e := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET}
	setToken(&e, token)
	return in.ctl(conn, unix.EPOLL_CTL_ADD, &e)
}

// remove does nothing if conn is closed: then the kernel has removed it.
func (in *instance) remove(conn syscall.RawConn) {
	in.ctl(conn, unix.EPOLL_CTL_DEL, nil)
}

// ctl holds both descriptors while it uses them: neither can be closed and given to
// another file in between.
func (in *instance) ctl(conn syscall.RawConn, op int, e *unix.EpollEvent) error {
	var err error
	inErr := in.rc.Control(func(ep uintptr) {
		connErr := conn.Control(func(fd uintptr) {
			err = unix.EpollCtl(int(ep), op, int(fd), e)
		})
		err = errors.Join(err, connErr)
	})
	return errors.Join(err, inErr)
}

// The kernel's event has 64 bits of user data, which x/sys gives as two fields.

func setToken(e *unix.EpollEvent, token uint64) {
	e.Fd, e.Pad = int32(uint32(token)), int32(uint32(token>>32))
}

func tokenOf(e unix.EpollEvent) uint64 {
	return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
}
