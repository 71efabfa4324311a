package pool

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
)

// aliasShards is so many that requests to different hosts seldom meet at a lock.
const aliasShards = 64

// An aliasTable finds a request's host by what the request says. It is the one thing that
// all requests share, so it is cut into shards, and a shard's last find costs no lock.
type aliasTable struct {
	seed   maphash.Seed
	shards [aliasShards]aliasShard
}

type aliasShard struct {
	last atomic.Pointer[alias] // written with mu held, for reading at least; nil: none

	mu   sync.RWMutex
	all  map[rawKey]*alias
	most int // that were in all, since it was made

	_ [16]byte // no two shards in a cache line
}

type alias struct {
	raw rawKey
	h   *host
}

func newAliasTable() *aliasTable { return &aliasTable{seed: maphash.MakeSeed()} }

func (t *aliasTable) shard(raw *rawKey) *aliasShard {
	return &t.shards[maphash.String(t.seed, raw.host)%aliasShards]
}

// find returns nil if the alias isn't known.
func (t *aliasTable) find(raw rawKey) *host {
	s := t.shard(&raw)
	if a := s.last.Load(); a != nil && a.raw == raw {
		return a.h
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	a := s.all[raw]
	if a == nil {
		return nil
	}
	s.last.Store(a)
	return a.h
}

func (t *aliasTable) add(raw rawKey, h *host) {
	s := t.shard(&raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[rawKey]*alias)
	}
	s.all[raw] = &alias{raw, h}
	s.most = max(s.most, len(s.all))
}

func (t *aliasTable) remove(raw rawKey) {
	s := t.shard(&raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.last.Load(); a != nil && a.raw == raw {
		s.last.Store(nil)
	}
	delete(s.all, raw)
	s.all = shrunk(s.all, &s.most)
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

// len is how many aliases are known.
func (t *aliasTable) len() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.RLock()
		n += len(s.all)
		s.mu.RUnlock()
	}
	return n
}
