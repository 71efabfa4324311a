package bench

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProcessCounts holds the figures against descriptors, memory and system calls of known
// number.
func TestProcessCounts(t *testing.T) {
	p := openProcess()
	defer p.close()
	before := p.look()
	if before.fds < 3 || before.resident <= 0 || before.syscalls <= 0 {
		t.Skipf("the system tells %+v", before)
	}
	for range 100 {
		p.look()
	}
	if n := p.look().syscalls - before.syscalls; n < 0 || n > 50 { // the runtime may make some
		t.Errorf("100 looks are %d system calls, want none", n)
	}

	const files, calls, size = 200, 5000, 64 << 20
	opened := make([]*os.File, files)
	for i := range opened {
		var err error
		if opened[i], err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	for range calls {
		_, _ = unix.Read(null, make([]byte, 1))
		_, _ = unix.Write(null, []byte{1})
	}
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += os.Getpagesize() {
		memory[i] = 1
	}
	now := p.look()
	for name, fds := range map[string]int64{"size": now.fds, "list": p.listFDs()} {
		if n := fds - before.fds; n < files-20 || n > files+20 { // other tests may close or open some
			t.Errorf("%d descriptors more by the directory's %s, want about %d", n, name, files+1)
		}
	}
	if n := now.syscalls - before.syscalls; n < 2*calls || n > 2*calls+500 {
		t.Errorf("%d system calls, want %d", n, 2*calls)
	}
	if n := now.resident - before.resident; n < size*9/10 || n > size*2 {
		t.Errorf("%d bytes more, want %d", n, size)
	}
	if err := unix.Munmap(memory); err != nil {
		t.Error(err)
	}
	for _, f := range opened {
		_ = f.Close() // nothing was written
	}
	most := now
	most.raise(p.look())
	if grown := most.since(before); grown.fds != now.fds || grown.resident < size*9/10 || grown.syscalls < 2*calls {
		t.Errorf("grown by %+v", grown)
	}
}

func TestLookAllocatesNothing(t *testing.T) {
	p := openProcess()
	defer p.close()
	if n := testing.AllocsPerRun(20, func() { p.look(); p.listFDs() }); n > 0 {
		t.Errorf("%v allocations in a look", n)
	}
}

func TestCountDirents(t *testing.T) {
	entry := func(length int) []byte {
		return append(slices.Repeat([]byte{9}, 16), append([]byte{byte(length), 0}, make([]byte, length-18)...)...)
	}
	two := append(entry(24), entry(32)...)
	for _, tt := range []struct {
		b    []byte
		want int64
	}{{nil, 0}, {two, 2}, {two[:40], 1}, {make([]byte, 64), 0}, {append(two, 1, 2, 3), 2}} {
		if n := countDirents(tt.b); n != tt.want {
			t.Errorf("%d entries in %v, want %d", n, tt.b, tt.want)
		}
	}
}

// TestRunTellsFigures checks that they come into the report.
func TestRunTellsFigures(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos, o.Clients, o.Rounds = []string{"steady"}, []string{"h1"}, []Client{NetHTTP()}, 2
	o.Workers = 20
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := rep.Results[0]
	if r.PeakFDs == nil || r.PeakRSS == nil || r.Syscalls == nil {
		t.Skip("the system doesn't tell")
	}
	// Each of 20 callers has a connection, and with net/http three goroutines.
	if *r.PeakGoroutines < 50 || *r.PeakGoroutines > 500 || *r.PeakFDs < 20 || *r.PeakFDs > 500 {
		t.Errorf("%d goroutines, %d descriptors", *r.PeakGoroutines, *r.PeakFDs)
	}
	// Each request is a write and a read at least; one that finds nothing is a third.
	if *r.Syscalls < 1.9 || *r.Syscalls > 6 || *r.PeakRSS < 1<<16 || *r.PeakRSS > 1<<30 {
		t.Errorf("%v syscalls per request, %d bytes grown", *r.Syscalls, *r.PeakRSS)
	}
	if s := r.Samples; len(s) != 2 || s[0].Syscalls == nil || *r.PeakFDs != max(*s[0].PeakFDs, *s[1].PeakFDs) {
		t.Errorf("samples %+v", s)
	}
}
