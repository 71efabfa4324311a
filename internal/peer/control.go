package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// childEnv marks a process that is to be a peer child and nothing else.
const childEnv = "CONNWISE_PEER_CHILD"

// A command is one line that the parent writes to the child, and a reply the line
// that answers it. They take turns: no second command before the reply.
type command struct {
	Op     string  `json:"op"` // "listen", "faults", "drop", "cut", "down", "count", "report", "close", and those of h2child.go
	Server int     `json:"server,omitempty"`
	TLS    bool    `json:"tls,omitempty"`
	Faults *Faults `json:"faults,omitempty"`
	Drop   *Drop   `json:"drop,omitempty"`
	Cut    *Cut    `json:"cut,omitempty"`

	Away  time.Duration `json:"away_ns,omitempty"`
	Limit int           `json:"limit,omitempty"`

	H2Faults *H2Faults `json:"h2_faults,omitempty"`
	H2GoAway *H2GoAway `json:"h2_go_away,omitempty"`
}

type reply struct {
	Error   string  `json:"error,omitempty"`
	Server  int     `json:"server,omitempty"`
	Addr    string  `json:"addr,omitempty"`
	CA      []byte  `json:"ca,omitempty"` // PEM; in the greeting only
	Dropped int     `json:"dropped,omitempty"`
	Count   *Count  `json:"count,omitempty"`
	Report  *Report `json:"report,omitempty"`

	H2Report *H2Report `json:"h2_report,omitempty"`
}

// IsChild reports whether this process was started by Spawn. A program that calls
// Spawn must check it first thing in main (a test binary in TestMain), and when
// true call ChildMain and nothing else.
func IsChild() bool { return os.Getenv(childEnv) != "" }

// ChildMain serves the parent at the other end of stdin and stdout, and returns
// the exit code when stdin ends: the parent closed it, or died.
func ChildMain(stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(os.Interrupt) // a terminal's Ctrl-C is for the parent, who then closes stdin
	if err := serveControl(stdin, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// serveControl answers commands until stdin ends, then closes all servers.
func serveControl(stdin io.Reader, stdout io.Writer) error {
	a, err := NewAuthority()
	if err != nil {
		return err
	}
	c := controller{authority: a, servers: make(map[int]*Server), h2: make(map[int]*H2Server)}
	defer c.closeAll()
	out := json.NewEncoder(stdout)
	if err := out.Encode(reply{CA: a.PEM()}); err != nil {
		return fmt.Errorf("peer: control: %w", err)
	}
	in := json.NewDecoder(bufio.NewReader(stdin))
	for {
		var cmd command
		if err := in.Decode(&cmd); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("peer: control: %w", err)
		}
		if err := out.Encode(c.do(cmd)); err != nil {
			return fmt.Errorf("peer: control: %w", err)
		}
	}
}

// A controller holds the child's servers.
type controller struct {
	authority *Authority
	servers   map[int]*Server
	h2        map[int]*H2Server
	last      int
}

func (c *controller) do(cmd command) reply {
	switch cmd.Op {
	case "listen":
		return c.listen(cmd)
	case "listen-h2":
		return c.listenH2(cmd)
	}
	if s := c.h2[cmd.Server]; s != nil {
		return c.doH2(s, cmd)
	}
	s := c.servers[cmd.Server]
	if s == nil {
		return reply{Error: fmt.Sprintf("no server %d", cmd.Server)}
	}
	switch {
	case cmd.Op == "faults" && cmd.Faults != nil:
		s.SetFaults(*cmd.Faults)
	case cmd.Op == "drop" && cmd.Drop != nil:
		return reply{Dropped: s.Drop(*cmd.Drop)}
	case cmd.Op == "cut" && cmd.Cut != nil:
		s.SetCut(*cmd.Cut)
	case cmd.Op == "down":
		s.Down(cmd.Away)
	case cmd.Op == "count":
		n := s.Count()
		return reply{Count: &n}
	case cmd.Op == "report":
		r := s.Report()
		return reply{Report: &r}
	case cmd.Op == "close":
		s.Close()
		delete(c.servers, cmd.Server)
		r := s.Report()
		return reply{Report: &r}
	default:
		return reply{Error: fmt.Sprintf("bad command %q", cmd.Op)}
	}
	return reply{}
}

func (c *controller) listen(cmd command) reply {
	var a *Authority
	if cmd.TLS {
		a = c.authority
	}
	var f Faults
	if cmd.Faults != nil {
		f = *cmd.Faults
	}
	s, err := Start(a, f)
	if err != nil {
		return reply{Error: err.Error()}
	}
	c.last++
	c.servers[c.last] = s
	return reply{Server: c.last, Addr: s.Addr()}
}

func (c *controller) closeAll() {
	for _, s := range c.servers {
		s.Close()
	}
	for _, s := range c.h2 {
		s.Close()
	}
}
