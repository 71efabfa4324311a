package peer

// A Report is what a Server has seen. It shares nothing with the server.
type Report struct {
	// Accepted counts the connections accepted, and Conns has the requests executed
	// on each, in the order of acceptance; those past the first 16384 are only counted.
	Accepted int   `json:"accepted"`
	Conns    []int `json:"conns"`
	// Requests counts executions, those without a usable id (Uncounted) included.
	Requests  uint64     `json:"requests"`
	Uncounted uint64     `json:"uncounted"`
	Executed  Executions `json:"executed"`
}

// Report returns what the server has seen so far. It is final after Close.
func (s *Server) Report() Report {
	r := Report{Executed: s.oracle.executions()}
	r.Requests, r.Uncounted = s.oracle.totals()
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Accepted = s.accepted
	r.Conns = make([]int, min(s.accepted, maxReported))
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
