package peer

import (
	"net"
	"slices"
	"testing"
)

// TestCountOfConnections asks a child's servers of both kinds while connections come
// and go.
func TestCountOfConnections(t *testing.T) {
	child := spawn(t)
	h1, err := child.Listen(false, Faults{})
	if err != nil {
		t.Fatal(err)
	}
	h2, err := child.ListenH2(false, H2Faults{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]interface {
		Addr() string
		Count() (Count, error)
	}{"http1": h1, "http2": h2} {
		t.Run(name, func(t *testing.T) {
			reaches := func(want Count) {
				t.Helper()
				var got Count
				until(t, func() bool {
					var err error
					if got, err = s.Count(); err != nil {
						t.Fatal(err)
					}
					return got.Accepted == want.Accepted && got.Open == want.Open
				})
				if got != want {
					t.Errorf("count %+v, want %+v", got, want)
				}
			}
			connect := func() net.Conn {
				nc, err := net.Dial("tcp", s.Addr())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = nc.Close() })
				return nc
			}
			reaches(Count{})
			first, second := connect(), connect()
			reaches(Count{Accepted: 2, Open: 2, Peak: 2})
			_ = first.Close()
			reaches(Count{Accepted: 2, Open: 1, Peak: 2})
			_ = second.Close()
			reaches(Count{Accepted: 2, Peak: 2})
			connect()
			reaches(Count{Accepted: 3, Open: 1, Peak: 2})
		})
	}
	closed, err := h1.Close()
	if err != nil || closed.Accepted != 3 || closed.Peak != 2 || closed.Open != 0 {
		t.Errorf("final report %+v, %v; want 3 accepted, 2 at a time, none open", closed.Count, err)
	}
	last, err := h2.Close()
	if err != nil || last.Accepted != 3 || last.Peak != 2 || last.Open != 0 {
		t.Errorf("final report %+v, %v; want 3 accepted, 2 at a time, none open", last.Count, err)
	}
	if _, err := h1.Count(); err == nil {
		t.Error("a closed server counts")
	}
}

// TestConnectionsBeyondTheReportedAreCounted: the report has its bounds, and what is summed over
// all connections hasn't.
func TestConnectionsBeyondTheReportedAreCounted(t *testing.T) {
	s, err := Start(nil, Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.mu.Lock()
	s.count.Accepted = maxReported // as if all of them had been unused
	s.mu.Unlock()
	dial(t, s.Addr(), nil)
	dial(t, s.Addr(), nil).do(1)
	until(t, func() bool { return s.Count().Accepted == maxReported+2 })
	if r := s.Report(); r.Unused != maxReported+1 || len(r.AcceptedAt) != 2 {
		t.Errorf("%d unused and %d times of acceptance, want %d and 2", r.Unused, len(r.AcceptedAt), maxReported+1)
	}
}

// TestH2ConnectionsBeyondTheReportedAreCounted is the same over HTTP/2.
func TestH2ConnectionsBeyondTheReportedAreCounted(t *testing.T) {
	runH2(t, H2Options{}, func(t *testing.T, s *h2Rig) {
		s.mu.Lock()
		s.count.Accepted = maxReported
		s.mu.Unlock()
		s.book.mu.Lock()
		s.book.conns = slices.Repeat([]*H2ConnReport{{}}, maxReported)
		s.book.mu.Unlock()
		dial(t, s.Addr(), nil)
		if _, err := s.call(s.client(), "GET", ""); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return s.Count().Accepted == maxReported+2 })
		if r := s.Report(); r.Unused != maxReported+1 || len(r.AcceptedAt) != 2 {
			t.Errorf("%d unused and %d times of acceptance, want %d and 2", r.Unused, len(r.AcceptedAt), maxReported+1)
		}
	})
}
