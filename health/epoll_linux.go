package health

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An instance is an epoll instance and the goroutine that waits on it.
type instance struct {
	file *os.File
	rc   syscall.RawConn

	woken atomic.Int64 // how often the goroutine was, for tests
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
			in.fire(tokenOf(e), e.Events&hangUp != 0)
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
	in.woken.Add(-1) // the first time it isn't woken
	rerr := in.rc.Read(func(fd uintptr) bool {
		in.woken.Add(1)
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

// What is asked for of a connection always, and of one that rests. The kernel tells of EPOLLHUP
// and EPOLLERR unasked.
const (
	hangUp  = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	always  = unix.EPOLLRDHUP | unix.EPOLLET
	resting = always | unix.EPOLLIN
)

func (in *instance) add(conn syscall.RawConn, token uint64) error {
	return in.ctl(conn, unix.EPOLL_CTL_ADD, event(always, token))
}

// await changes what is asked for. The kernel tells of what is there already, too.
func (in *instance) await(conn syscall.RawConn, token uint64, rest bool) error {
	events := uint32(always)
	if rest {
		events = resting
	}
	return in.ctl(conn, unix.EPOLL_CTL_MOD, event(events, token))
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

// event returns an event with a token. The kernel has 64 bits for that, which x/sys gives as
// two fields.
func event(events uint32, token uint64) *unix.EpollEvent {
	return &unix.EpollEvent{Events: events, Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
}

func tokenOf(e unix.EpollEvent) uint64 {
	return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
}
