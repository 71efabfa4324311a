package bench

import (
	"context"
	"net/http"
	"sync"

	"example.com/connwise/internal/peer"
)

// perConn is how many requests keepalive's peer takes on a connection.
const perConn = 100

// keepAlive is keepalive_requests, as nginx calls it.
//
// A client that has the last answer of a connection which ends unannounced can see the FIN
// too, as both leave in one segment (on Linux). Over HTTP/2 that takes a connection with one
// request at a time: what else is under way when the FIN comes can't be told from what was
// executed.
var keepAlive = scenario{
	name:  "keepalive",
	quick: []string{"h1"},
	about: "three POSTs to a GET in a closed loop, to a peer that takes 100 requests on a connection. It announces the end of every other connection, by Connection: close or by a GOAWAY with the last stream's id, as nginx does with keepalive_requests; the others end unannounced, by a FIN in one segment with the last answer (on Linux; elsewhere it comes right behind it). Over HTTP/2 each caller has a client of its own, and so one request at a time on a connection",
	faults: func(*plan) faults {
		return faults{
			perConn: perConn,
			more1:   func(f *peer.Faults) { f.Unannounced = 2 },
			more2:   func(f *peer.H2Faults) { f.GoAway, f.Unannounced = peer.H2GoAway{}, 2 },
		}
	},
	callers: func(p *plan) int { return p.Workers },
	run: func(ctx context.Context, r *rig) error {
		cs, err := r.lanes(!r.proto.h2)
		if err != nil {
			return err
		}
		r.measure(func() {
			inLanes(cs, func(_ int, c *caller) {
				for n := 0; r.more(ctx, 1) > 0; n++ {
					c.call(ctx, mixedMethod(n))
				}
			})
		})
		return nil
	},
}

// mixedMethod returns the method of the n-th call where POSTs and GETs are mixed.
func mixedMethod(n int) string {
	if n%4 == 3 {
		return http.MethodGet
	}
	return http.MethodPost
}

// lanes returns the round's callers, of one client or each of its own.
func (r *rig) lanes(shared bool) ([]*caller, error) {
	cs := make([]*caller, r.callers)
	for i := range cs {
		client := r.client
		if !shared {
			var err error
			if client, err = r.newClient(); err != nil {
				return nil, err
			}
		}
		cs[i] = r.callerOf(client)
	}
	return cs, nil
}

// inLanes runs f for all callers at the same time and waits for all.
func inLanes(cs []*caller, f func(i int, c *caller)) {
	var wg sync.WaitGroup
	for i, c := range cs {
		wg.Go(func() { f(i, c) })
	}
	wg.Wait()
}
