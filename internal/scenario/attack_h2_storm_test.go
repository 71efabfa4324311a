package scenario

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// serveNetHTTP serves h over HTTP/2 with net/http in the rig's mode, and returns its URL.
func (r *rig) serveNetHTTP(h http.HandlerFunc) string {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	p := new(http.Protocols)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: p, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 20}}
	scheme := "http://"
	done := make(chan struct{})
	if r.mode.tls {
		scheme = "https://"
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{identity().cert}}
		go func() { defer close(done); s.ServeTLS(ln, "", "") }()
	} else {
		go func() { defer close(done); s.Serve(ln) }()
	}
	r.onEnd(func() { s.Close(); <-done })
	return scheme + ln.Addr().String()
}

// A mess answers in all kinds of ways.
func mess(w http.ResponseWriter, q *http.Request) {
	n, _ := strconv.Atoi(q.URL.Query().Get("n"))
	switch n % 6 {
	case 0: // whole request, then the answer
		b, _ := io.ReadAll(q.Body)
		w.Header().Set("X-Length", strconv.Itoa(len(b)))
	case 1: // early
		w.WriteHeader(http.StatusOK)
		w.Write(make([]byte, 100))
	case 2: // much
		w.Write(make([]byte, 300<<10))
	case 3: // echo
		http.NewResponseController(w).EnableFullDuplex()
		io.Copy(w, q.Body)
	case 4: // never
		<-q.Context().Done()
	case 5: // broken
		panic(http.ErrAbortHandler)
	}
}

// Whatever moment a request is cancelled in, nothing is left of it: neither a stream nor a
// goroutine, and not the next request's luck.
func TestAttackCancelsAtRandomMoments(t *testing.T) {
	long(t)
	eachH2(t, func(t *testing.T, r *rig) {
		url := r.serveNetHTTP(mess)
		tr := r.h2pool(pool.Config{MaxConnsPerHost: 2})
		const workers, rounds = 8, 2000
		var begun atomic.Int64
		together(workers, func(w int) {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for begun.Add(1) <= rounds {
				cancelSomewhen(t, tr, url, rnd)
			}
		})
		ok := within(5*time.Second, func() bool { g := gauges(tr); return g.InUse == 0 && g.Waiting == 0 && g.Dialing == 0 })
		if !ok {
			t.Fatalf("gauges %+v", gauges(tr))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		q, _ := http.NewRequestWithContext(ctx, "GET", url+"/?n=0", nil)
		resp, err := tr.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	})
}

func cancelSomewhen(t *testing.T, tr *pool.Transport, url string, rnd *rand.Rand) {
	n := rnd.IntN(6)
	wait := time.Duration(rnd.IntN(3000)) * time.Microsecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n == 4 || rnd.IntN(2) == 0 {
		if rnd.IntN(2) == 0 {
			stop := time.AfterFunc(wait, cancel)
			defer stop.Stop()
		} else {
			var c context.CancelFunc
			ctx, c = context.WithTimeout(ctx, wait)
			defer c()
		}
	}
	var body io.Reader
	if rnd.IntN(2) == 0 {
		body = bytes.NewReader(make([]byte, rnd.IntN(200<<10)))
		if rnd.IntN(2) == 0 {
			body = io.MultiReader(body)
		}
	}
	q, err := http.NewRequestWithContext(ctx, "POST", url+"/?n="+strconv.Itoa(n), body)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(q)
	if err != nil {
		var pe *pool.Error
		if !errors.As(err, &pe) {
			t.Errorf("%T %v", err, err)
		} else if n != 5 && ctx.Err() == nil {
			t.Errorf("n=%d: %v", n, err)
		}
		return
	}
	switch rnd.IntN(3) {
	case 0:
		io.Copy(io.Discard, resp.Body)
	case 1:
		io.CopyN(io.Discard, resp.Body, int64(rnd.IntN(1000)))
		runtime.Gosched()
	}
	resp.Body.Close()
}
