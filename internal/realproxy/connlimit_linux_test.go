//go:build proxies && linux

package realproxy

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
	"example.com/connwise/pool"
)

const (
	manyWorkers  = 64
	limitWait    = 5 * time.Second
	limitAge     = 500 * time.Millisecond // so that connections are replaced under the limit
	slowClose    = 25 * time.Millisecond  // half of what the pool waits for the Close of other than sockets
	countedEvery = 5 * time.Millisecond
)

// fewConns is the limit. lighttpd takes 8 streams on a connection.
func (v variant) fewConns() int {
	if v.proto == frontproxy.H2 {
		return 4
	}
	return 8
}

// The proxy never sees more connections than MaxConnsPerHost, also while connections are
// replaced: by their age, and by the proxy's count of requests. Requests wait for their turn,
// none for as long as MaxWait.
func TestMaxConnsPerHostHoldsAtTheProxy(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant) {
		limit := v.fewConns()
		r := newRigOf(t, v, frontproxy.Settings{Idle: longIdle, Requests: 10 * keepRequests}, startOrigin(t))
		c := newConnwise(r)
		c.cfg.MaxConnsPerHost, c.cfg.MaxWait, c.cfg.MaxConnAge = limit, limitWait, limitAge
		c.cfg.MinIdlePerHost = limit / 2
		var own opened
		c.cfg.Base.DialContext = own.dial
		rec := &record{client: "connwise"}
		rt := c.transport(t)
		stop := make(chan struct{})
		var wg, counting sync.WaitGroup
		var seen established
		var s stalls
		counting.Go(func() { s.watch(stop) })
		counting.Go(func() { seen.watch(r.proxy.Addr(), stop) })
		for range manyWorkers {
			wg.Go(func() { r.hurry(rt, rec, stop) })
		}
		time.AfterFunc(capacityTime()/2, func() { close(stop) })
		wg.Wait()
		counting.Wait()
		o := judge(rec, c, r.executions())
		logTable(t, o)
		total, peak := c.pools[0].Stats().Total, own.peak()
		t.Logf("%d connections at most, in %d looks, and %d as the client counts; %v", seen.most, seen.looks, peak, total.ClosedBy)
		o.wantClean(t)
		// HAProxy takes more streams on a connection than there are workers.
		if total.WaitTimeouts > 0 || total.Waited == 0 && v.String() != "haproxy/h2" {
			t.Errorf("%d requests waited, %d of them too long", total.Waited, total.WaitTimeouts)
		}
		if seen.err != nil || seen.most == 0 || seen.most > limit {
			t.Errorf("%d connections at the proxy at a time, want %d at most, %v", seen.most, limit, seen.err)
		}
		if peak > limit && len(s.atLeast(slowClose).spans) == 0 {
			t.Errorf("the client had %d connections at a time, want %d at most", peak, limit)
		}
		if n := total.ClosedBy[pool.ReasonMaxAge]; int(n) < limit {
			t.Errorf("%d connections were replaced for their age", n)
		}
		c.close(t)
	}, []variant{{kind: frontproxy.Nginx, proto: frontproxy.H1}, {kind: frontproxy.HAProxy, proto: frontproxy.TLS}}, direct(overHTTP2(frontproxy.HAProxy, frontproxy.Lighttpd)))
}

// hurry sends one POST after the other until stop.
func (r *rig) hurry(rt http.RoundTripper, rec *record, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			r.send(rt, http.MethodPost, rec)
		}
	}
}

// opened is how many connections a client has, from the begin of their dial to the end of their
// Close.
type opened struct {
	mu        sync.Mutex
	now, most int
}

func (o *opened) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now += n
	o.most = max(o.most, o.now)
}

// peak is how many there were at the most.
func (o *opened) peak() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.most
}

// dial is for http.Transport.DialContext.
func (o *opened) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	o.add(1)
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		o.add(-1)
		return nil, err
	}
	return &openedConn{TCPConn: c.(*net.TCPConn), closed: sync.OnceFunc(func() { o.add(-1) })}, nil
}

type openedConn struct {
	*net.TCPConn
	closed func()
}

// Close counts the connection as closed when it is.
func (c *openedConn) Close() error {
	defer c.closed()
	return c.TCPConn.Close()
}
