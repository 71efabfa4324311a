package pool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"example.com/connwise/dialer"
)

// A told collects what a Trace is told, and complains of what comes in the wrong order.
type told struct {
	mu     sync.Mutex
	all    []any
	stages map[uint64]string // of each connection: "open", then "closed"; "failed"
	wrong  []string
}

func (r *told) trace() *Trace {
	return &Trace{
		Dialled: func(e DialEvent) {
			stage := "open"
			if e.Err != nil {
				stage = "failed"
			}
			r.take(e, e.ID, "", stage)
		},
		Reused:   func(e ReuseEvent) { r.take(e, e.ID, "open", "open") },
		Retired:  func(e RetireEvent) { r.take(e, e.ID, "open", "closed") },
		Waited:   func(e WaitEvent) { r.take(e, 0, "", "") },
		Refused:  func(e RefuseEvent) { r.take(e, 0, "", "") },
		Replaced: func(e ReplaceEvent) { r.take(e, 0, "", "") },
	}
}

// take notes e, which is of the connection id, if that isn't zero, and brings it from one stage to
// the next.
func (r *told) take(e any, id uint64, from, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
	if id == 0 {
		return
	}
	if r.stages == nil {
		r.stages = make(map[uint64]string)
	}
	if at := r.stages[id]; at != from {
		r.wrong = append(r.wrong, fmt.Sprintf("%T of connection %d, which is %q: %+v", e, id, at, e))
	}
	r.stages[id] = to
}

// of are the events of one type.
func of[E any](r *told) (es []E) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.all {
		if e, ok := e.(E); ok {
			es = append(es, e)
		}
	}
	return es
}

// theOnly is the one event of its type.
func theOnly[E any](t *testing.T, r *told) (e E) {
	t.Helper()
	es := of[E](r)
	if len(es) != 1 {
		t.Fatalf("%d of %T, want one: %+v", len(es), e, es)
	}
	return es[0]
}

// books are the counters that can be told from the events, and those of tot.
func (r *told) books(tot *Totals) (got, want map[string]int64) {
	got, want = make(map[string]int64), make(map[string]int64)
	for _, e := range of[DialEvent](r) {
		got["dials"]++
		switch {
		case e.Err == nil:
			got["opened"]++
			got["dial times"] += int64(e.Took)
		case e.Stage == 0:
			got["abandoned"]++
		default:
			got[e.Stage.String()]++
		}
		if e.Ahead {
			got["ahead"]++
		}
	}
	for _, e := range of[RetireEvent](r) {
		got["closed, "+string(e.Reason)]++
		if !e.InUse {
			got["idle, "+string(e.Reason)]++
			got["idle for, "+string(e.Reason)] += int64(e.Idle)
		}
	}
	for _, e := range of[WaitEvent](r) {
		if !errors.Is(e.Err, ErrTooManyWaiters) {
			got["waits"]++
			got["wait times"] += int64(e.Took)
		}
		if errors.Is(e.Err, ErrWaitTimeout) || errors.Is(e.Err, ErrTooManyWaiters) {
			got["wait timeouts"]++
		}
	}
	got["reused"], got["replaced"], got["refused"] = int64(len(of[ReuseEvent](r))), int64(len(of[ReplaceEvent](r))), int64(len(of[RefuseEvent](r)))

	f := tot.DialFailures
	for name, n := range map[string]uint64{
		"dials": tot.Dials, "opened": tot.Opened, "ahead": tot.DialsAhead, "abandoned": f.Abandoned,
		dialer.StageResolve.String(): f.Resolve, dialer.StageConnect.String(): f.Connect, dialer.StageProxy.String(): f.Proxy, dialer.StageTLS.String(): f.TLS,
		"dial times": uint64(tot.DialTimes.Sum), "waits": tot.WaitTimes.Count(), "wait times": uint64(tot.WaitTimes.Sum), "wait timeouts": tot.WaitTimeouts,
		"reused": tot.Reused, "replaced": tot.Replaced, "refused": tot.Refused,
	} {
		want[name] = int64(n)
	}
	for reason, n := range tot.ClosedBy {
		want["closed, "+string(reason)] = int64(n)
	}
	for reason, a := range tot.IdleAges {
		want["idle, "+string(reason)], want["idle for, "+string(reason)] = int64(a.Count), int64(a.Sum)
	}
	drop := func(_ string, n int64) bool { return n == 0 }
	maps.DeleteFunc(got, drop)
	maps.DeleteFunc(want, drop)
	return got, want
}

// wantBooks checks that what was told is what was counted, once all is at rest.
func (r *told) wantBooks(t *testing.T, tot *Totals) {
	t.Helper()
	if got, want := r.books(tot); !maps.Equal(got, want) {
		for _, name := range slices.Sorted(maps.Keys(merged(got, want))) {
			if got[name] != want[name] {
				t.Errorf("%s: the events say %d, Stats %d", name, got[name], want[name])
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range r.wrong {
		t.Error(text)
	}
}

func merged(a, b map[string]int64) map[string]int64 {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// settledBooks waits for the books to agree, where events may come a moment after.
func (r *told) settledBooks(t *testing.T, tr *Transport) {
	t.Helper()
	var tot Totals
	defer func() { r.wantBooks(t, &tot) }()
	eventually(t, "what was told is what was counted", func() bool {
		tot = tr.Stats().Total
		got, want := r.books(&tot)
		return maps.Equal(got, want)
	})
}
