package peer

import (
	"errors"
	"fmt"
	"time"
)

// ListenH2 starts an H2Server in the child that serves as f says, with TLS or without.
func (c *Child) ListenH2(tls bool, f H2Faults) (*RemoteH2, error) {
	r, err := c.do(command{Op: "listen-h2", TLS: tls, H2Faults: &f})
	if err != nil {
		return nil, err
	}
	return &RemoteH2{child: c, server: r.Server, addr: r.Addr}, nil
}

// A RemoteH2 is an H2Server in a Child. Its methods do what the H2Server's do, and fail
// when the child is gone.
type RemoteH2 struct {
	child  *Child
	server int
	addr   string
}

// Addr returns the server's "127.0.0.1:port".
func (r *RemoteH2) Addr() string { return r.addr }

// SetFaults replaces the faults.
func (r *RemoteH2) SetFaults(f H2Faults) error {
	_, err := r.child.do(command{Op: "faults", Server: r.server, H2Faults: &f})
	return err
}

// GoAway ends all connections as g says, and returns how many.
func (r *RemoteH2) GoAway(g H2GoAway) (int, error) {
	rep, err := r.child.do(command{Op: "goaway", Server: r.server, H2GoAway: &g})
	return rep.Dropped, err
}

// Limit sets how many streams at a time connections take.
func (r *RemoteH2) Limit(n int) error {
	_, err := r.child.do(command{Op: "limit", Server: r.server, Limit: n})
	return err
}

// Down has nobody listen for d.
func (r *RemoteH2) Down(d time.Duration) error { return r.child.down(r.server, d) }

// Count returns the connections so far.
func (r *RemoteH2) Count() (Count, error) { return r.child.count(r.server) }

// Report returns what the server has seen so far.
func (r *RemoteH2) Report() (H2Report, error) { return r.report("report") }

// Close closes the server, forgets it, and returns its final report.
func (r *RemoteH2) Close() (H2Report, error) { return r.report("close") }

func (r *RemoteH2) report(op string) (H2Report, error) {
	rep, err := r.child.do(command{Op: op, Server: r.server})
	if err == nil && rep.H2Report == nil {
		err = errors.New("peer: " + op + ": reply without a report")
	}
	if err != nil {
		return H2Report{}, err
	}
	return *rep.H2Report, nil
}

func (c *controller) listenH2(cmd command) reply {
	var o H2Options
	if cmd.TLS {
		o.TLS = c.authority.serverConfig()
		o.TLS.NextProtos = nil
	}
	if cmd.H2Faults != nil {
		o.Faults = *cmd.H2Faults
	}
	s, err := StartH2(o)
	if err != nil {
		return reply{Error: err.Error()}
	}
	c.last++
	c.h2[c.last] = s
	return reply{Server: c.last, Addr: s.Addr()}
}

func (c *controller) doH2(s *H2Server, cmd command) reply {
	switch {
	case cmd.Op == "faults" && cmd.H2Faults != nil:
		s.SetFaults(*cmd.H2Faults)
	case cmd.Op == "goaway" && cmd.H2GoAway != nil:
		return reply{Dropped: s.GoAway(*cmd.H2GoAway)}
	case cmd.Op == "down":
		s.Down(cmd.Away)
	case cmd.Op == "limit":
		s.Limit(cmd.Limit)
	case cmd.Op == "count":
		n := s.Count()
		return reply{Count: &n}
	case cmd.Op == "report":
		r := s.Report()
		return reply{H2Report: &r}
	case cmd.Op == "close":
		s.Close()
		delete(c.h2, cmd.Server)
		r := s.Report()
		return reply{H2Report: &r}
	default:
		return reply{Error: fmt.Sprintf("bad command %q", cmd.Op)}
	}
	return reply{}
}
