package peer

import (
	"slices"
	"time"
)

// A Count is how many connections a server has had. A client that closes one connection
// and opens another may be seen with both for a moment, as the server learns of the two
// from different sockets.
type Count struct {
	Accepted int `json:"accepted"`
	Open     int `json:"open"` // now
	Peak     int `json:"peak"` // the most that were open at one time
}

// add counts one more, of which so many are open.
func (c *Count) add(open int) {
	c.Accepted++
	c.Peak = max(c.Peak, open)
}

// maxTimes bounds the times of acceptance that a Report has.
const maxTimes = 1 << 17

// acceptTimes are those of the first connections.
type acceptTimes []time.Time

func (a *acceptTimes) add() {
	if len(*a) < maxTimes {
		*a = append(*a, time.Now())
	}
}

// A Report is what a Server has seen. It shares nothing with the server.
type Report struct {
	Count
	// Conns has the requests executed on each connection, in the order of acceptance;
	// those past the first 16384 are only counted.
	Conns []int `json:"conns"`
	// Unused counts the connections, all of them, on which no request was executed.
	Unused int `json:"unused"`
	// AcceptedAt has the times of acceptance, of the first 131072.
	AcceptedAt []time.Time `json:"accepted_at"`
	// Requests counts executions, those without a usable id (Uncounted) included.
	Requests  uint64     `json:"requests"`
	Uncounted uint64     `json:"uncounted"`
	Executed  Executions `json:"executed"`
	// BodyBytes counts the bytes of the bodies of executed requests, and Damaged those whose
	// body wasn't what Faults.Upload says.
	BodyBytes uint64 `json:"body_bytes"`
	Damaged   uint64 `json:"damaged"`
}

// Count returns the connections so far, which costs less than a Report.
func (s *Server) Count() Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.countLocked()
}

func (s *Server) countLocked() Count {
	c := s.count
	c.Open = len(s.open)
	return c
}

// Report returns what the server has seen so far. It is final after Close.
func (s *Server) Report() Report {
	r := Report{Executed: s.oracle.executions()}
	r.Requests, r.Uncounted = s.oracle.totals()
	r.BodyBytes, r.Damaged = s.oracle.bodies()
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Count = s.countLocked()
	r.Unused = r.Accepted - int(s.used.Load())
	r.AcceptedAt = slices.Clone(s.accepted)
	r.Conns = make([]int, min(r.Accepted, maxReported))
	for num, n := range s.ended {
		r.Conns[num] = n
	}
	for c := range s.open {
		if c.num < maxReported {
			c.mu.Lock()
			r.Conns[c.num] = c.requests
			c.mu.Unlock()
		}
	}
	return r
}
