package peer

import "sync"

// Cuts say which requests are cut, and how. They are for scenarios in which every client can
// do right: no request is cut twice, so that one which comes again is answered.
type Cuts[Way any] struct {
	// Every is of how many requests one is cut, counted apart for POSTs and for all others;
	// those that were cut before don't count. Zero: none is.
	Every int `json:"every,omitempty"`
	// Posts are the ways in which POSTs are cut, in turns, and Others those for what may be
	// repeated. Empty: they aren't.
	Posts  []Way `json:"posts,omitempty"`
	Others []Way `json:"others,omitempty"`
}

// maxCuts bounds the memory of requests that were cut. Once it is full no other is.
const maxCuts = 1 << 16

// A cutter remembers what was cut. The zero cutter is ready.
type cutter struct {
	mu            sync.Mutex
	posts, others int // so many have come
	done          map[uint64]struct{}
}

// choose returns the way in which a request is to be cut, by its id; false: it isn't.
func choose[Way any](k *cutter, c Cuts[Way], id uint64, post bool) (way Way, cut bool) {
	ways, count := c.Others, &k.others
	if post {
		ways, count = c.Posts, &k.posts
	}
	if c.Every <= 0 || len(ways) == 0 {
		return way, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, again := k.done[id]; again || len(k.done) >= maxCuts {
		return way, false
	}
	*count++
	if *count%c.Every != 0 {
		return way, false
	}
	if k.done == nil {
		k.done = make(map[uint64]struct{})
	}
	k.done[id] = struct{}{}
	return ways[(*count/c.Every-1)%len(ways)], true
}
