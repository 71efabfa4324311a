package peer

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// HeaderID is the header with a request's id: a decimal number from 1 up. Ids
// should be given out without gaps: the oracle stores them in pages and reports
// them in runs.
const HeaderID = "X-Request-Id"

const (
	pageSize = 1 << 12
	maxPages = 1 << 14 // 64 Mi ids, 64 MiB
)

// MostIDs is how many ids an oracle can count for sure, in two stretches without gaps.
const MostIDs = (maxPages - 4) * pageSize

// An oracle counts executions by id. Its memory is bounded: ids beyond maxPages
// pages are counted in uncounted alone.
type oracle struct {
	mu        sync.Mutex
	pages     map[uint64]*[pageSize]uint8 // by id / pageSize
	total     uint64
	uncounted uint64 // no id, or beyond the bound
	received  uint64 // bytes of bodies
	damaged   uint64 // bodies of POSTs
}

// execute counts an execution of id; zero is a request without one.
func (o *oracle) execute(id uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total++
	if id == 0 {
		o.uncounted++
		return
	}
	p := o.pages[id/pageSize]
	if p == nil {
		if len(o.pages) == maxPages {
			o.uncounted++
			return
		}
		if o.pages == nil {
			o.pages = make(map[uint64]*[pageSize]uint8)
		}
		p = new([pageSize]uint8)
		o.pages[id/pageSize] = p
	}
	if n := &p[id%pageSize]; *n < 255 {
		*n++
	}
}

// body counts the body of a request that was executed; that of a POST is to be Pattern(upload),
// unless upload is zero.
func (o *oracle) body(b *PatternCheck, post bool, upload int64) {
	damaged := post && upload > 0 && !b.Is(upload)
	if b.Size() == 0 && !damaged {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.received += uint64(b.Size())
	if damaged {
		o.damaged++
	}
}

// totals returns all executions, and those that have no place in executions.
func (o *oracle) totals() (total, uncounted uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total, o.uncounted
}

// bodies returns the bytes of bodies, and the damaged bodies.
func (o *oracle) bodies() (received, damaged uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.received, o.damaged
}

// executions returns what was counted, in runs.
func (o *oracle) executions() Executions {
	o.mu.Lock()
	defer o.mu.Unlock()
	var runs Executions
	for _, k := range slices.Sorted(maps.Keys(o.pages)) {
		for i, n := range o.pages[k] {
			if n > 0 {
				runs = runs.add(k*pageSize+uint64(i), int(n))
			}
		}
	}
	return runs
}

// A Run is N ids from First on that were executed Count times each. Count ends
// at 255, which stands for that and more.
type Run struct {
	First uint64 `json:"first"`
	N     uint64 `json:"n"`
	Count int    `json:"count"`
}

// Executions are the ids that were executed, in ascending runs; ids between the
// runs were never executed.
type Executions []Run

func (e Executions) add(id uint64, count int) Executions {
	if k := len(e) - 1; k >= 0 && e[k].Count == count && e[k].First+e[k].N == id {
		e[k].N++
		return e
	}
	return append(e, Run{First: id, N: 1, Count: count})
}

// Count returns how often id was executed.
func (e Executions) Count(id uint64) int {
	i, found := slices.BinarySearchFunc(e, id, func(r Run, id uint64) int { return cmp.Compare(r.First, id) })
	if !found {
		i--
	}
	if i < 0 || id-e[i].First >= e[i].N {
		return 0
	}
	return e[i].Count
}
