package h2

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"example.com/connwise/internal/wire"
)

// A server is net/http's, over HTTP/2.
func newServer(t testing.TB, secure bool, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	p := new(http.Protocols)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s.Config.Protocols = p
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// dial makes a Conn to s.
func dial(t testing.TB, s *httptest.Server, opt Options, ev Events) *Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if s.TLS != nil {
		tc := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err := tc.Handshake(); err != nil {
			t.Fatal(err)
		}
		nc = tc
	}
	return NewConn(nc, &opt, ev)
}

// echo answers with what it got, and its hash in a trailer.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "X-Sum")
	w.Header().Set("X-Method", r.Method)
	sum := sha256.New()
	if r.Method == "PUT" { // after the whole request
		b, _ := io.ReadAll(r.Body)
		sum.Write(b)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b)
	} else { // while it comes
		http.NewResponseController(w).EnableFullDuplex()
		io.Copy(io.MultiWriter(w, sum), r.Body)
	}
	w.Header().Set("X-Sum", fmt.Sprintf("%x", sum.Sum(nil)))
}

func TestMixedBodiesAgainstNetHTTP(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("tls=", secure), func(t *testing.T) {
			s := newServer(t, secure, http.HandlerFunc(echo))
			rec := newRecorder()
			c := dial(t, s, Options{}, rec)
			var wg sync.WaitGroup
			for w := range 16 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(w), 1))
					for range 20 {
						mixed(t, c, s.URL, rng)
					}
				})
			}
			wg.Wait()
			if st := c.State(); st.Streams != 0 || st.Queued != 0 {
				t.Errorf("left over: %+v", st)
			}
			c.Close()
			<-rec.ended
		})
	}
}

// noise has no repetitions that a mistake could hide behind.
var noise = func() []byte {
	p := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(p)
	return p
}()

// mixed makes one request with a random body and compares every byte of the answer.
func mixed(t *testing.T, c *Conn, url string, rng *rand.Rand) {
	size := rng.IntN(1 << uint(rng.IntN(20)))
	p := noise[rng.IntN(len(noise)-size):][:size]
	method := []string{"PUT", "POST"}[rng.IntN(2)]
	req, _ := http.NewRequest(method, url, nil)
	r := wire.Request{Request: req}
	switch rng.IntN(3) {
	case 0:
		r.Small = p
	case 1:
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(p)), int64(size)
	case 2:
		req.Body = io.NopCloser(bytes.NewReader(p))
	}
	if size == 0 && r.Small == nil {
		req.Body = http.NoBody
	}
	a := startOn(t, c, r)
	<-a.ret
	if a.err != nil {
		t.Errorf("%s of %d bytes: %v", method, size, a.err)
		return
	}
	got, err := io.ReadAll(a.resp.Body)
	a.resp.Body.Close()
	if err != nil || !bytes.Equal(got, p) {
		t.Errorf("%s of %d bytes: %d bytes, equal %v, %v", method, size, len(got), bytes.Equal(got, p), err)
	}
	if sum := a.resp.Trailer.Get("X-Sum"); sum != fmt.Sprintf("%x", sha256.Sum256(p)) {
		t.Errorf("trailer %q", sum)
	}
	if why := <-a.ends; why != wire.EndKept {
		t.Errorf("%s of %d bytes ended %v", method, size, why)
	}
}
