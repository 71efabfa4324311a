package bench

import (
	"cmp"
	"time"
)

// roomWait is the longest that a call waits for room, where Options.MaxWait says nothing else.
const roomWait = 5 * time.Second

// limitRoom has no more than room requests under way at a time: on as many connections, and
// over HTTP/2 on one, whose streams the peer bounds.
func (r *rig) limitRoom(room int, s *Setup, f *faults) {
	s.MaxConns = room
	if r.proto.h2 {
		s.MaxConns, f.streams = 1, room
	}
	s.MaxWait = cmp.Or(s.MaxWait, roomWait)
	r.ready = min(r.ready, s.MaxConns)
	s.Ready = r.ready
}
