package dialer

import (
	"context"
	"net"
	"time"
)

// A race is the attempt to connect to one of several addresses.
type race struct {
	nd      *net.Dialer
	network string
	addrs   []string
	turn    time.Duration // for which an address has the time for itself
	tries   []Try         // those started
	running int
	results chan result
	winner  net.Conn
	won     string // the winner's address
}

type result struct {
	i    int // index in tries
	conn net.Conn
	err  error
	took time.Duration
}

// race connects to the addresses, the next beside the ones before when they have had
// their time, and at once when one fails. It returns a race that is over: with the first
// connection as its winner, or with what became of each address. All attempts have ended, and
// the connections of those that came second are closed. It ends with ctx.
func (d *Dialer) race(ctx context.Context, network string, addrs []string) *race {
	var left time.Duration
	if at, ok := ctx.Deadline(); ok {
		left = time.Until(at)
	}
	r := &race{nd: d.netDialer(), network: network, addrs: addrs, turn: stagger(d.FallbackDelay, len(addrs), left)}
	if len(addrs) == 1 {
		r.single(ctx)
	} else {
		r.run(ctx)
	}
	return r
}

// single needs no goroutine.
func (r *race) single(ctx context.Context) {
	start := time.Now()
	c, err := r.nd.DialContext(ctx, r.network, r.addrs[0])
	if err != nil {
		r.tries = []Try{{Addr: r.addrs[0], Err: err, Took: time.Since(start)}}
		return
	}
	r.winner, r.won = c, r.addrs[0]
}

func (r *race) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.results = make(chan result, len(r.addrs))
	r.start(ctx)
	timer := time.NewTimer(r.turn)
	defer timer.Stop()
	for r.running > 0 {
		select {
		case res := <-r.results:
			r.running--
			if r.finish(res) {
				cancel()
				continue
			}
		case <-timer.C:
		}
		if r.winner == nil && r.start(ctx) {
			timer.Reset(r.turn)
		}
	}
}

// start begins with the next address, if there is one and time for it.
func (r *race) start(ctx context.Context) bool {
	i := len(r.tries)
	if i == len(r.addrs) || ctx.Err() != nil {
		return false
	}
	r.tries = append(r.tries, Try{Addr: r.addrs[i]})
	r.running++
	go func() {
		start := time.Now()
		c, err := r.nd.DialContext(ctx, r.network, r.addrs[i])
		r.results <- result{i: i, conn: c, err: err, took: time.Since(start)}
	}()
	return true
}

// finish notes a result, and reports whether there is a winner.
func (r *race) finish(res result) bool {
	r.tries[res.i].Err, r.tries[res.i].Took = res.err, res.took
	switch {
	case res.err != nil:
	case r.winner == nil:
		r.winner, r.won = res.conn, r.addrs[res.i]
	default:
		res.conn.Close()
	}
	return r.winner != nil
}
