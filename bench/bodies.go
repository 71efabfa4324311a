package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/connwise/internal/peer"
)

// largeBody is the length of download's answers and upload's requests, and largeCallers how
// many of them are under way, where Options.Workers says nothing else: enough to keep two
// cores busy.
const (
	largeBody    = 8 << 20
	largeCallers = 4
)

var download = scenario{
	name:    "download",
	about:   "closed loop of GETs with answers of 8 MiB, by 4 callers (--workers), on warm connections. Every byte is compared with the one that the server sent",
	loads:   true,
	quick:   []string{"h1"},
	faults:  func(*plan) faults { return faults{body: largeBody} },
	callers: (*plan).largeCallers,
	run:     func(ctx context.Context, r *rig) error { return bulk(ctx, r, http.MethodGet) },
}

var upload = scenario{
	name:    "upload",
	about:   "closed loop of POSTs of 8 MiB, by 4 callers (--workers), on warm connections. Every other one doesn't tell its length before, and goes in chunks over HTTP/1.1. The server compares every byte with the one that was sent",
	loads:   true,
	faults:  func(*plan) faults { return faults{upload: largeBody} },
	callers: (*plan).largeCallers,
	run:     func(ctx context.Context, r *rig) error { return bulk(ctx, r, http.MethodPost) },
}

func (p *plan) largeCallers() int { return cmp.Or(p.own.Workers, largeCallers) }

// bulk keeps all callers busy, after one request each that opens the connections.
func bulk(ctx context.Context, r *rig, method string) error {
	r.moved = new(atomic.Int64)
	if r.limit > int64(4*r.callers) {
		r.wave(ctx, r.take(r.callers), method)
	}
	r.measure(func() { r.busy(ctx, method) })
	return nil
}

// largePattern is made once: it is as large as a body.
var largePattern = sync.OnceValue(func() []byte { return peer.Pattern(largeBody) })

// check has bodies compared.
func (r *rig) check(f faults) {
	r.checked = int64(cmp.Or(f.body, smallBody))
	if f.upload > 0 {
		r.upload = largePattern()[:f.upload]
	}
}

// chunked says whether a POST's length isn't told: of every other one, where bodies are large.
func (r *rig) chunked(id uint64) bool { return r.moved != nil && id%2 == 1 }

// bytes are those of the bodies so far.
func (r *rig) bytes() int64 {
	if r.moved == nil {
		return 0
	}
	return r.moved.Load()
}

// seen is what was seen of an answer's body. halfway is called once, when half of it is.
type seen struct {
	peer.PatternCheck
	half    int64
	halfway func() // nil: nothing
}

// Write never fails.
func (s *seen) Write(p []byte) (int, error) {
	n, _ := s.PatternCheck.Write(p)
	if s.halfway != nil && s.Size() >= s.half {
		s.halfway()
		s.halfway = nil
	}
	return n, nil
}

// look has an answer compared.
func (c *caller) look(e *Exchange) {
	if c.large == nil {
		c.large = make([]byte, 32<<10) // io.Copy's
	}
	c.seen.PatternCheck = peer.PatternCheck{}
	e.Sink = &c.seen
}

var errDamaged = errors.New("bench: the answer's body isn't the one that was sent")

// looked returns what is wrong with the answer, if something is.
func (c *caller) looked(e *Exchange) error {
	if !c.seen.Is(c.rig.checked) {
		c.rig.damaged.Add(1)
		return fmt.Errorf("%w: %d bytes of %d", errDamaged, c.seen.Size(), c.rig.checked)
	}
	if c.rig.moved != nil {
		c.rig.moved.Add(e.Read + int64(len(e.Body)))
	}
	return nil
}

// perMiB returns the MiB in a second, and the CPU time of one in microseconds; nil of none,
// and where the system doesn't tell.
func (u usage) perMiB() (rate, cpu *float64) {
	n := float64(u.bytes) / (1 << 20)
	if n == 0 {
		return nil, nil
	}
	if haveCPU {
		cpu = new(round(u.cpu.Seconds()*1e6/n, 1))
	}
	return new(round(n/u.wall.Seconds(), 1)), cpu
}

var _ io.Writer = (*seen)(nil)
