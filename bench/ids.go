package bench

import (
	"net/http"
	"slices"
	"sync/atomic"
)

// ids gives out request ids without gaps: safe methods from 1, the others from
// unsafeBase + 1, so that the peer's record of them can be told apart.
type ids struct{ safe, unsafe atomic.Uint64 }

const unsafeBase = 1 << 40

var safeMethods = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

func (i *ids) next(method string) uint64 {
	if slices.Contains(safeMethods, method) {
		return i.safe.Add(1)
	}
	return unsafeBase + i.unsafe.Add(1)
}

func (i *ids) total() uint64 { return i.safe.Load() + i.unsafe.Load() }

// maxFailedIDs bounds the ids that a round keeps of failed calls, and of those that were answered
// otherwise than by 2xx. A round in which more come ends early, as the peer's record couldn't be
// compared with what isn't known.
const maxFailedIDs = 1 << 20

// keep adds an id. Room is left for the calls that are under way. r.mu is held.
func (r *rig) keep(ids []uint64, id uint64) []uint64 {
	if ids = append(ids, id); len(ids) == maxFailedIDs-2*mostOpen {
		r.taken.Store(r.limit)
	}
	return ids
}
