package bench

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// A process is this one's directory of /proc. Looking at it allocates nothing, as that would
// be counted as the client's.
type process struct {
	dir, statm, io int // descriptors; negative: can't be read
	reads          int64
	buf            [4096]byte
}

func openProcess() *process {
	open := func(name string, flags int) int {
		fd, err := unix.Open("/proc/self/"+name, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		if err != nil {
			return -1
		}
		return fd
	}
	return &process{dir: open("fd", unix.O_DIRECTORY), statm: open("statm", 0), io: open("io", 0)}
}

func (p *process) close() {
	for _, fd := range []int{p.dir, p.statm, p.io} {
		if fd >= 0 {
			_ = unix.Close(fd) // it was only read
		}
	}
}

// fds counts the open descriptors, the process's own included. Since Linux 6.2 their number
// is the directory's size.
func (p *process) fds() int64 {
	var st unix.Stat_t
	if p.dir < 0 || unix.Fstat(p.dir, &st) != nil {
		return unknown
	}
	if st.Size > 0 {
		return st.Size
	}
	return p.listFDs()
}

// listFDs is fds without the directory's size.
func (p *process) listFDs() int64 {
	if _, err := unix.Seek(p.dir, 0, 0); err != nil {
		return unknown
	}
	total := int64(-2) // "." and ".."
	for {
		n, err := unix.ReadDirent(p.dir, p.buf[:])
		if err != nil {
			return unknown
		}
		if n == 0 {
			return total
		}
		total += countDirents(p.buf[:n])
	}
}

// countDirents counts records of getdents64: each has its length at offset 16.
func countDirents(b []byte) int64 {
	n := int64(0)
	for len(b) >= 18 {
		length := int(binary.NativeEndian.Uint16(b[16:]))
		if length < 18 || length > len(b) {
			break
		}
		b = b[length:]
		n++
	}
	return n
}

// resident is how much of the process is in memory, in bytes.
func (p *process) resident() int64 {
	_, rest, _ := bytes.Cut(p.read(p.statm), []byte(" "))
	pages, ok := leading(rest)
	if !ok {
		return unknown
	}
	return pages * int64(os.Getpagesize())
}

// syscalls counts those that read or wrote, but for the ones made here.
func (p *process) syscalls() int64 {
	text := p.read(p.io)
	_, behind, _ := bytes.Cut(text, []byte("syscr: "))
	reads, ok1 := leading(behind)
	_, behind, _ = bytes.Cut(text, []byte("syscw: "))
	writes, ok2 := leading(behind)
	if !ok1 || !ok2 {
		return unknown
	}
	return reads + writes - (p.reads - 1) // the system doesn't know of this one yet
}

// read returns what a file has now.
func (p *process) read(fd int) []byte {
	if fd < 0 {
		return nil
	}
	n, err := unix.Pread(fd, p.buf[:], 0)
	if err != nil {
		return nil
	}
	p.reads++
	return p.buf[:n]
}

// leading is the number at the beginning.
func leading(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n, ok = 10*n+int64(c-'0'), true
	}
	return n, ok
}
