package bench

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/peer"
)

// Of so many requests midflight's peer cuts one, and over HTTP/2 it drops its connections once
// in a while. Retries of what is cut may be no more than a tenth of all calls (retry.Budget).
const (
	cutEvery  = 25
	dropEvery = time.Second
)

// midflight cuts requests in the middle of them, in ways that a client can do right by:
//
// A POST is cut only where it was executed, or where a GOAWAY says that it wasn't: of one
// that was read and dropped without a word nobody but the peer can know. What was executed
// has to fail, as it may not be sent again. GETs are cut before their execution too, and not
// behind their answer's head, from where on the answer is the caller's and can't be had anew.
//
// No GET fails that is sent three times within half a second: a request is cut once, and
// connections are dropped less often than that. When they are dropped no POST is under way,
// nor begins before the GETs on them are through: until then the client needn't have seen it.
var midflight = scenario{
	name:   "midflight",
	quick:  []string{"h1"},
	about:  "three POSTs to a GET in a closed loop; the peer cuts one of 25, each once, by FIN, by FIN without close_notify and by RST: after its execution without an answer, or in the middle of the answer, and GETs before their execution, too. Over HTTP/2 it ends the stream by RST_STREAM with various codes, or the connection by a GOAWAY that lets the streams below its last id finish and drops those above; and every second, while no POST is under way, it drops all connections with the GETs on them. POSTs that were executed and cut have to fail, and aren't avoidable; GETs are to succeed by a retry",
	traced: true,
	loads:  true,
	faults: func(*plan) faults {
		return faults{
			more1: func(f *peer.Faults) { f.Cuts = cuts1 },
			more2: func(f *peer.H2Faults) { f.Delay, f.Cuts = time.Millisecond, cuts2 },
		}
	},
	callers: func(p *plan) int { return p.Workers },
	run:     cutInMidflight,
}

var cuts1 = peer.Cuts[peer.Cut]{
	Every: cutEvery,
	Posts: []peer.Cut{
		{At: peer.CutAfter, Style: peer.FIN}, {At: peer.CutAfter, Style: peer.BareFIN}, {At: peer.CutAfter, Style: peer.RST},
		{At: peer.CutHead, Style: peer.FIN}, {At: peer.CutHalf, Style: peer.BareFIN}, {At: peer.CutHalf, Style: peer.RST},
	},
	Others: []peer.Cut{
		{At: peer.CutBefore, Style: peer.FIN}, {At: peer.CutBefore, Style: peer.BareFIN}, {At: peer.CutBefore, Style: peer.RST},
		{At: peer.CutAfter, Style: peer.FIN}, {At: peer.CutAfter, Style: peer.RST},
		{At: peer.CutHead, Style: peer.BareFIN}, {At: peer.CutHead, Style: peer.RST},
	},
}

var cuts2 = peer.Cuts[peer.H2Cut]{
	Every: cutEvery,
	Posts: []peer.H2Cut{
		{At: peer.CutAfter, Code: http2.ErrCodeCancel}, {At: peer.CutAfter, GoAway: true},
		{At: peer.CutHalf, Code: http2.ErrCodeInternal}, {At: peer.CutAfter, Code: http2.ErrCodeEnhanceYourCalm},
	},
	Others: []peer.H2Cut{
		{At: peer.CutBefore, Code: http2.ErrCodeInternal}, {At: peer.CutAfter, Code: http2.ErrCodeCancel},
		{At: peer.CutBefore, GoAway: true}, {At: peer.CutAfter, Code: http2.ErrCodeProtocol},
	},
}

// dropStyles are how connections are dropped that are shared by many requests.
var dropStyles = []peer.Style{peer.FIN, peer.RST, peer.BareFIN}

func cutInMidflight(ctx context.Context, r *rig) (err error) {
	gate := barrier{gets: new(sync.WaitGroup)}
	drop := func(n int) error {
		if !r.proto.h2 {
			return nil
		}
		return gate.drop(func() error {
			_, err := r.peer.h2.GoAway(peer.H2GoAway{Quiet: true, Now: true, Style: dropStyles[n%len(dropStyles)]})
			return err
		})
	}
	r.measure(func() {
		err = r.meanwhile(dropEvery, drop, func() {
			r.drive(ctx, func(c *caller, t turn) {
				came, method := time.Now(), cmp.Or(t.method, mixedMethod(t.n))
				done := gate.enter(method)
				defer done()
				c.callDue(ctx, method, t.due.Add(time.Since(came))) // the wait isn't the client's
			})
		})
	})
	return err
}

// A barrier keeps POSTs away from connections that are dropped, until the client has seen it:
// until all GETs are through that were on them.
type barrier struct {
	posts sync.RWMutex // read: one is under way; write: a drop

	mu   sync.Mutex
	gets *sync.WaitGroup // begun since the last drop; guarded by mu
}

// enter waits until a call may begin. It is over when done is called.
func (b *barrier) enter(method string) (done func()) {
	if method == http.MethodPost {
		b.posts.RLock()
		return b.posts.RUnlock
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gets.Add(1)
	return b.gets.Done
}

func (b *barrier) drop(connections func() error) error {
	b.posts.Lock()
	defer b.posts.Unlock()
	if err := connections(); err != nil {
		return err
	}
	b.mu.Lock()
	hit := b.gets
	b.gets = new(sync.WaitGroup)
	b.mu.Unlock()
	hit.Wait()
	return nil
}
