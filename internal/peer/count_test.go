package peer

import (
	"net"
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
