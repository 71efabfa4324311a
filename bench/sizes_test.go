package bench

import (
	"slices"
	"strings"
	"testing"
)

// sizesOf are those of the plan's rows of a scenario.
func sizesOf(p *plan, scenario, proto string) (sizes []int) {
	for _, w := range p.rows {
		if w.scenario.name == scenario && w.proto.name == proto {
			sizes = append(sizes, w.size)
		}
	}
	return sizes
}

func TestSizes(t *testing.T) {
	tests := []struct {
		name            string
		o               Options
		scenario, proto string
		want            []int
	}{
		{"idle-conns named", Options{Scenarios: []string{"idle-conns"}}, "idle-conns", "h1s", []int{1, 10, 100, 1000, 10_000}},
		{"idle-conns in all", Options{All: true}, "idle-conns", "h1", []int{1, 10, 100, 1000, 10_000}},
		{"idle-conns over TLS in all", Options{All: true}, "idle-conns", "h1s", []int{1, 10, 100}},
		{"idle-conns over HTTP/2", Options{All: true}, "idle-conns", "h2c", nil},
		{"hosts named", Options{Scenarios: []string{"hosts"}}, "hosts", "h2", []int{1, 100, 10_000}},
		{"hosts in all", Options{All: true}, "hosts", "h1", []int{1, 100, 10_000}},
		{"hosts over TLS in all", Options{All: true}, "hosts", "h2", []int{1, 100}},
		{"hosts over h2c in all", Options{All: true}, "hosts", "h2c", []int{1, 100, 1000}},
		{"the default run", Options{}, "hosts", "h1", nil},
		{"no larger than", Options{All: true, MaxSize: 100}, "idle-conns", "h1", []int{1, 10, 100}},
		{"a scenario without sizes", Options{All: true, MaxSize: 1}, "steady", "h1", []int{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := tt.o.planFor(20_000)
			if err != nil {
				t.Fatal(err)
			}
			if got := sizesOf(p, tt.scenario, tt.proto); !slices.Equal(got, tt.want) {
				t.Errorf("sizes %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRoomForSizes checks that a size for which there's no room is an error where it was asked
// for, and left out otherwise.
func TestRoomForSizes(t *testing.T) {
	tests := []struct {
		name        string
		o           Options
		descriptors int
		want        string // in the error
		left        []int  // of idle-conns in a run of all
	}{
		{"enough", Options{}, 10_132, "", []int{1, 10, 100, 1000, 10_000}},
		{"descriptors", Options{}, 10_131, "10032 connections, and the system allows a process 10131", []int{1, 10, 100, 1000}},
		{"descriptors for callers", Options{Workers: 1000}, 2000, "max-size", []int{1, 10, 100}},
		{"max-conns", Options{MaxConns: 132}, 20_000, `max-conns "132"`, []int{1, 10, 100}},
		{"requests", Options{Requests: 3 * 4 * 42}, 20_000, "in each of the 3 rounds", []int{1, 10}},
		{"max-size", Options{MaxSize: 10, MaxConns: 42}, 200, "", []int{1, 10}},
		{"max-size below zero", Options{MaxSize: -1}, 20_000, "max-size", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			named := tt.o
			named.Scenarios, named.Protos = []string{"idle-conns"}, []string{"h1"}
			if _, err := named.planFor(tt.descriptors); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			tt.o.All = true
			p, err := tt.o.planFor(tt.descriptors)
			if err != nil {
				if tt.left != nil {
					t.Error(err)
				}
				return
			}
			if got := sizesOf(p, "idle-conns", "h1"); !slices.Equal(got, tt.left) {
				t.Errorf("in a run of all sizes %v are left, want %v", got, tt.left)
			}
		})
	}
}

// TestIdleConnsAreThere checks that each client has as many connections as the row says beside
// its callers', that no more are dialled for the calls, and that they are to one host.
func TestIdleConnsAreThere(t *testing.T) {
	o := smoke()
	o.Workers = 4
	o.Scenarios, o.Protos, o.MaxSize, o.Requests = []string{"idle-conns"}, []string{"h1", "h1s"}, 10, 200
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) != 2*2*3 {
		t.Errorf("%d rows, want 2 sizes over 2 protocols with 3 clients", len(rep.Results))
	}
	for _, r := range rep.Results {
		want := *r.Size + int64(o.Workers)
		if *r.Dials != want || *r.PeakConns != want || r.Failed != 0 || *r.Lost != 0 {
			t.Errorf("%s %s %d: %d dials, %d open at most, %d failed (%s), %d lost; want %d connections", r.Proto, r.Client, *r.Size, *r.Dials, *r.PeakConns, r.Failed, r.FirstError, *r.Lost, want)
		}
	}
}

// TestHostsAreMany checks that each host has a connection, and the calls go to all.
func TestHostsAreMany(t *testing.T) {
	o := smoke()
	o.Workers = 4
	o.Scenarios, o.Protos, o.MaxSize, o.Requests = []string{"hosts"}, []string{"h1", "h2"}, 100, 500
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) != 2*(3+2) {
		t.Errorf("%d rows, want 2 sizes with 3 clients, or 2 over HTTP/2", len(rep.Results))
	}
	for _, r := range rep.Results {
		if *r.Dials < *r.Size || r.Requests < *r.Size || r.Failed != 0 || *r.Lost != 0 {
			t.Errorf("%s %s %d: %d requests, %d dials, %d failed (%s), %d lost", r.Proto, r.Client, *r.Size, r.Requests, *r.Dials, r.Failed, r.FirstError, *r.Lost)
		}
	}
}
