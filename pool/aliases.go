package pool

import (
	"hash/maphash"
	"maps"
	"sync/atomic"
)

// An aliasTable finds a request's host by what the request says. It is the one thing that
// all requests share, so a find takes no lock and writes nothing, and it looks at two cache lines
// where there are thousands of hosts: a slot of the table, and the alias. Transport.mu guards
// whatever changes it. (A sync.Map would allocate for each request, whose key it takes as an any.)
//
// It is a hash table with open addressing. What is removed leaves its slot behind, as others may
// lie beyond; slots are never used again, but thrown away with the whole array.
type aliasTable struct {
	seed  maphash.Seed
	slots atomic.Pointer[[]aliasSlot] // as many as a power of two
	used  int                         // slots
	n     int                         // aliases
}

// An aliasSlot has a hash that counts where there is an alias: it is stored before that.
type aliasSlot struct {
	hash atomic.Uint64
	at   atomic.Pointer[alias] // nil: never used
}

type alias struct {
	raw rawKey
	h   *host
}

// removed lies in the slots of what was removed. No request says what it does.
var removed = &alias{}

const fewestSlots = 16

func newAliasTable() *aliasTable {
	t := &aliasTable{seed: maphash.MakeSeed()}
	t.resize()
	return t
}

// hash leaves out the scheme and what else has but two values.
func (t *aliasTable) hash(raw *rawKey) uint64 {
	sum := maphash.String(t.seed, raw.host)
	if raw.proxy != "" {
		sum = sum*31 + maphash.String(t.seed, raw.proxy)
	}
	return sum
}

// find returns nil if the alias isn't known.
func (t *aliasTable) find(raw rawKey) *host {
	slots, sum := *t.slots.Load(), t.hash(&raw)
	for i := sum; ; i++ {
		s := &slots[i&uint64(len(slots)-1)]
		a := s.at.Load()
		if a == nil {
			return nil
		}
		if s.hash.Load() == sum && a.raw == raw {
			return a.h
		}
	}
}

// add adds an alias that isn't there.
func (t *aliasTable) add(a *alias) {
	if slots := len(*t.slots.Load()); t.used+1 > slots/4*3 { // some have to be free, or a find wouldn't end
		t.resize()
	}
	place(*t.slots.Load(), a, t.hash(&a.raw))
	t.used++
	t.n++
}

func place(slots []aliasSlot, a *alias, sum uint64) {
	i := sum
	for slots[i&uint64(len(slots)-1)].at.Load() != nil {
		i++
	}
	s := &slots[i&uint64(len(slots)-1)]
	s.hash.Store(sum)
	s.at.Store(a)
}

// remove removes an alias that is there.
func (t *aliasTable) remove(a *alias) {
	slots := *t.slots.Load()
	i := t.hash(&a.raw)
	for slots[i&uint64(len(slots)-1)].at.Load() != a {
		i++
	}
	slots[i&uint64(len(slots)-1)].at.Store(removed)
	if t.n--; len(slots) > fewestSlots && t.n < len(slots)/8 {
		t.resize()
	}
}

// resize takes a new array, which is less than half full.
func (t *aliasTable) resize() {
	size := fewestSlots
	for size <= 2*t.n {
		size *= 2
	}
	slots := make([]aliasSlot, size)
	if old := t.slots.Load(); old != nil {
		for i := range *old {
			if a := (*old)[i].at.Load(); a != nil && a != removed {
				place(slots, a, (*old)[i].hash.Load())
			}
		}
	}
	t.slots.Store(&slots)
	t.used = t.n
}

// fewEntries are so few that their memory doesn't matter.
const fewEntries = 64

// shrunk is m, or a copy if it has but a few of the most entries that it had: a map keeps the
// memory of its largest size.
func shrunk[K comparable, V any](m map[K]V, most *int) map[K]V {
	if *most <= fewEntries || len(m) >= *most/4 {
		return m
	}
	*most = len(m)
	small := make(map[K]V, len(m)) // maps.Clone would be as large
	maps.Copy(small, m)
	return small
}
