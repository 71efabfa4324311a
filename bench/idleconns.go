package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// idleConns shows what connections cost that nobody uses at the moment: its rows differ by how
// many there are.
var idleConns = scenario{
	name:    "idle-conns",
	about:   "closed loop of small GETs on warm connections, while 1, 10, 100, 1000 or 10000 others to the same host are idle; one row for each of these sizes. A client whose cost doesn't grow has the same CPU for each request in all. Over TLS 1000 and 10000 only where the scenario is named: to open one takes both ends about a millisecond. Not over HTTP/2, where nobody has many connections to a host",
	loads:   true,
	holds:   true,
	protos:  []string{"h1", "h1s"},
	sizes:   idleSizes,
	faults:  func(*plan) faults { return faults{} },
	callers: func(p *plan) int { return p.Workers },
	run:     amongIdle,
}

func idleSizes(q proto, named bool) []int {
	sizes := []int{1, 10, 100, 1000, 10_000}
	if q.tls && !named {
		return sizes[:3]
	}
	return sizes
}

// amongIdle opens a connection for each caller and as many more as the row's size, and keeps
// the callers busy.
func amongIdle(ctx context.Context, r *rig) error {
	if err := r.prime(ctx, r.callers+r.size, (*caller).hold); err != nil {
		return err
	}
	r.wave(ctx, r.take(r.callers), http.MethodGet)
	r.measure(func() { r.busy(ctx, http.MethodGet) })
	return nil
}

// openers are how many connections are opened at a time before the calls are measured. More
// wouldn't be faster: both ends share the processors.
const openers = 16

// prime makes n calls in some way, some at a time, and then ends all of them. Its error is the
// first call's that failed.
func (r *rig) prime(ctx context.Context, n int, begin func(*caller, context.Context) (end func() error, err error)) error {
	ends := make([]func() error, r.take(n))
	errs := make([]error, openers)
	var wg sync.WaitGroup
	for w := range openers {
		wg.Go(func() {
			c := r.caller()
			for i := w; i < len(ends) && errs[w] == nil; i += openers {
				ends[i], errs[w] = begin(c, ctx)
			}
		})
	}
	wg.Wait()
	for _, end := range ends {
		if end != nil {
			errs = append(errs, end())
		}
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("opening %d connections: %w", n, err)
		}
	}
	return nil
}

// A Holder is a Caller that can put off the end of an answer, and keep its connection in use
// until then. Only such Callers can be in the rows of idle-conns.
type Holder interface {
	Caller
	// Hold is Call, but end reads what is left of the answer, and sets what e says of it.
	// It is called once.
	Hold(ctx context.Context, e *Exchange) (end func() error, err error)
}

// hold begins a GET whose connection is in use until end is called.
func (c *caller) hold(ctx context.Context) (end func() error, err error) {
	id := c.rig.ids.next(http.MethodGet)
	e := &Exchange{Method: http.MethodGet, URL: c.rig.urlOf(id), ID: fmt.Sprint(id)}
	finish, err := c.begin(ctx, e)
	if err != nil {
		c.rig.failedCall(id, time.Now(), err)
		return nil, err
	}
	return func() error {
		err := finish()
		if err == nil {
			err = c.check(e)
		}
		switch {
		case err != nil:
			c.rig.failedCall(id, time.Now(), err)
		case e.Status/100 != 2:
			c.rig.unexpected(id, fmt.Errorf("bench: status %d", e.Status))
		}
		return err
	}, nil
}

func (c *caller) begin(ctx context.Context, e *Exchange) (end func() error, err error) {
	switch client := c.client.(type) {
	case Holder:
		return client.Hold(ctx, e)
	case http.RoundTripper:
		c.get = nil // the last one's answer isn't read yet
		resp, err := client.RoundTrip(c.request(ctx, e))
		return func() error { return c.finish(resp, e) }, err
	}
	return nil, errors.New("the client is no Holder: its Has has to leave it out of such rows")
}
