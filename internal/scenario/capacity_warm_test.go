package scenario

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// A callSink counts how requests found their connections.
type callSink struct {
	tr         *pool.Transport
	url        string
	done, slow atomic.Int64 // slow: no connection was ready
	failed     atomic.Pointer[error]
}

func (k *callSink) call(method string) {
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if !i.Reused {
			k.slow.Add(1)
		}
	}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), method, k.url, nil)
	if err == nil {
		var resp *http.Response
		if resp, err = k.tr.RoundTrip(req); err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err == nil && resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", resp.StatusCode)
			}
		}
	}
	if err != nil {
		k.failed.CompareAndSwap(nil, &err)
	}
	k.done.Add(1)
}

// openLoop makes calls at their times, whether or not earlier ones are done: rate in each second,
// and every now and then a burst.
func (k *callSink) openLoop(rate, burst int, every, d time.Duration) {
	const tick = 5 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began, sent, bursts := time.Now(), 0, 1
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		<-ticker.C
		at := time.Since(began)
		if at > d {
			return
		}
		n := int(at*time.Duration(rate)/time.Second) - sent
		sent += n
		if at > every*time.Duration(bursts) {
			bursts++
			n += burst
		}
		for range n {
			wg.Go(func() { k.call("GET") })
		}
	}
}

// Whatever ends connections (their idle limit, their age, their count, a peer that closes
// some), with enough of them ready none of the requests waits for a dial.
func TestWarmPoolServesBurstsWithoutADial(t *testing.T) {
	for _, proto := range []string{"h1", "h1s", "h2"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			judged(t, 25*time.Millisecond, func(j *judge) { warmBursts(j, proto) })
		})
	}
}

func warmBursts(t *judge, proto string) {
	const burst, warm = 20, 40 // a machine that is busy, and a race detector, have to make 100 handshakes in a second
	var conns sync.Map         // net.Conn to the time at which it was opened, of those that were never used
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(5 * time.Millisecond) // the service's own time
		io.WriteString(w, "ok")
	}))
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Store(c, time.Now())
		} else {
			conns.Delete(c)
		}
	}
	srv.EnableHTTP2 = proto == "h2"
	base := &http.Transport{}
	if proto == "h1" {
		srv.Start()
	} else {
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{identity().cert}}
		srv.StartTLS()
		base.TLSClientConfig = clientTLS("")
	}
	defer srv.Close()
	tr, err := pool.New(pool.Config{Base: base, MinIdlePerHost: warm, ProxyIdleTimeout: time.Second, MaxConnAge: 2 * time.Second, MaxRequestsPerConn: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := tr.Warm(ctx, srv.URL, warm); err != nil {
		t.Errorf("%v", err) // the machine makes no 40 handshakes in the idle limit, maybe
		return
	}
	k := &callSink{tr: tr, url: srv.URL}
	closer := time.AfterFunc(1200*time.Millisecond, func() { closeSome(&conns, 4) })
	defer closer.Stop()
	k.openLoop(100, burst, 500*time.Millisecond, 2500*time.Millisecond)
	if err := k.failed.Load(); err != nil {
		t.Errorf("%v", *err)
	}
	st := tr.Stats().Total
	if k.slow.Load() > 0 {
		t.Errorf("%d of %d requests waited for a dial; %+v", k.slow.Load(), k.done.Load(), st)
	}
	t.Logf("%d requests, %d dials, %d of them ahead; closed by %v", k.done.Load(), st.Dials, st.DialsAhead, st.ClosedBy)
}

// closeSome closes one of so many connections, as the end of one of a site's processes does: of
// those that were never used, as a request may just come on others.
func closeSome(conns *sync.Map, of int) {
	n := 0
	conns.Range(func(c, since any) bool {
		if n++; n%of == 0 && time.Since(since.(time.Time)) > 100*time.Millisecond {
			c.(net.Conn).Close()
		}
		return true
	})
}
