package peer

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func spawn(t *testing.T) *Child {
	t.Helper()
	c, err := Spawn(os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestChildServes(t *testing.T) {
	child := spawn(t)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			r, err := child.Listen(m.tls, Faults{BodySize: 10})
			if err != nil {
				t.Fatal(err)
			}
			s := remoteClient{t, r, child, m.tls}
			c := s.dial()
			c.do(1)
			s.check(r.SetCut(Cut{At: CutAfter, Next: 1}))
			c.send(2)
			c.ends(FIN)
			c = s.dial()
			s.check(r.SetFaults(Faults{MaxRequests: 1, Style: BareFIN}))
			c.do(3)
			c.ends(BareFIN)
			s.check(r.SetFaults(Faults{}))
			c = s.dial()
			c.do(4)
			until(t, func() bool {
				n, err := r.Drop(Drop{Style: RST})
				s.check(err)
				return n == 1
			})
			c.ends(RST)
			rep, err := r.Close()
			s.check(err)
			wantExecuted(t, rep, 1, 1, 1, 1, 0)
			if rep.Accepted != 3 {
				t.Errorf("accepted %d, want 3", rep.Accepted)
			}
			if _, err := r.Report(); err == nil {
				t.Error("a closed server reports")
			}
		})
	}
}

type remoteClient struct {
	t     *testing.T
	r     *Remote
	child *Child
	tls   bool
}

func (s remoteClient) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s remoteClient) dial() *client {
	c := dial(s.t, s.r.Addr(), nil)
	if s.tls {
		c.startTLS(s.child.Roots())
	}
	return c
}

// TestChildErrors checks that a broken child is an error and not a hang.
func TestChildErrors(t *testing.T) {
	c, err := Spawn(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Listen(false, Faults{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Report(); err == nil {
		t.Error("a dead child reports")
	}
	if err := c.Close(); err == nil {
		t.Error("Close of a killed child: no error")
	}
	if _, err := c.Listen(false, Faults{}); err == nil {
		t.Error("a closed child listens")
	}
}

func TestControlRefusesBadCommands(t *testing.T) {
	in := strings.NewReader(`{"op":"report","server":7}{"op":"listen"}{"op":"jump","server":1}{"op":"drop","server":1}`)
	var out bytes.Buffer
	if err := serveControl(in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{`"ca":`, `no server 7`, `"addr":"127.0.0.1:`, `bad command`, `bad command`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("reply %d: %s, want %s in it", i, lines[i], want)
		}
	}
	if err := serveControl(strings.NewReader("nonsense"), io.Discard); err == nil {
		t.Error("nonsense on stdin: no error")
	}
}

// TestSpawnInChild checks that a program which forgot IsChild doesn't start itself for ever.
func TestSpawnInChild(t *testing.T) {
	t.Setenv(childEnv, "1")
	if c, err := Spawn(nil); err == nil {
		_ = c.Close()
		t.Error("a child spawned a child")
	}
}

// holdChild is the parent in TestChildDiesWithParent: it starts a child with a
// server, tells of both, and waits to be killed.
func holdChild() int {
	c, err := Spawn(os.Stderr)
	if err != nil {
		return 1
	}
	r, err := c.Listen(false, Faults{})
	if err != nil {
		return 1
	}
	fmt.Println(c.Pid(), r.Addr())
	select {}
}
