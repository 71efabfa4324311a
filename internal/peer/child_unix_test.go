//go:build unix

package peer

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// TestChildDiesWithParent kills a parent with SIGKILL, so that it can't clean up,
// and watches a connection to the child: it ends only when the child does.
func TestChildDiesWithParent(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe)
	parent.Env = append(os.Environ(), holderEnv+"=1")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var addr string
	_, err = fmt.Fscan(stdout, &pid, &addr)
	c := (*client)(nil)
	if err == nil {
		c = dial(t, addr, nil)
		c.do(1)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	if err != nil {
		t.Fatal(err)
	}
	c.ends(BareFIN)
	until(t, func() bool {
		_, err := net.Dial("tcp", addr)
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	until(t, func() bool { return gone(pid) })
}

// gone reports whether a process has ended. As an orphan it may stay a zombie,
// where nobody reaps it.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(b, []byte(") Z "))
}
