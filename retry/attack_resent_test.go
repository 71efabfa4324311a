package retry_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"example.com/connwise/dialer"
	"example.com/connwise/retry"
)

// TestResentUnasked: over HTTP/2 net/http sends a POST again by itself whose stream was reset with
// PROTOCOL_ERROR, behind whatever the server has done. That the dial for it is refused is no
// proof, also when connections without a count aren't looked at any more.
func TestResentUnasked(t *testing.T) {
	for _, before := range []int{0, 20} {
		var executed atomic.Int32
		url, end := resetter(t, &executed)
		base := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: rootPool()}}
		tr := &retry.Transport{Base: base, Policy: quick(retry.Default())}
		plain := newOrigin(t, false)
		for range before {
			req := newReq(t, nil, "GET", "http://"+plain.ln.Addr().String(), "")
			req.Close = true
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		base.TLSClientConfig.ServerName = originName
		var rep retry.Report
		_, err := tr.RoundTrip(newReq(t, &rep, "POST", url, ""))
		if err == nil || rep.Retries != 0 || executed.Load() != 1 {
			t.Errorf("after %d connections: executed %d times, %d retries, %v", before, executed.Load(), rep.Retries, err)
		}
		end()
		base.CloseIdleConnections()
	}
}

// resetter is a server that executes a request, resets its stream, and is gone.
func resetter(t *testing.T, executed *atomic.Int32) (url string, end func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conf := serverTLS()
	conf.NextProtos = []string{"h2"}
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		s := tls.Server(c, conf)
		io.ReadFull(s, make([]byte, len(http2.ClientPreface)))
		fr := http2.NewFramer(s, s)
		fr.WriteSettings()
		for f, err := fr.ReadFrame(); err == nil; f, err = fr.ReadFrame() {
			if h, ok := f.(*http2.HeadersFrame); ok {
				executed.Add(1)
				ln.Close()
				fr.WriteGoAway(h.StreamID, http2.ErrCodeNo, nil)
				fr.WriteRSTStream(h.StreamID, http2.ErrCodeProtocol)
				return
			}
		}
	})
	return "https://" + ln.Addr().String(), func() { ln.Close(); wg.Wait() }
}

// TestARegisteredProtocol is somebody else's RoundTripper, though Base is an http.Transport.
func TestARegisteredProtocol(t *testing.T) {
	o := newOrigin(t, false)
	idle, err := new(dialer.Dialer).DialContext(t.Context(), "tcp", o.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	base, sent := new(http.Transport), 0
	base.RegisterProtocol("other", baseFunc(func(req *http.Request) (*http.Response, error) {
		sent++
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: idle})
		}
		return nil, io.EOF
	}))
	tr := &retry.Transport{Base: base, Policy: quick(retry.Default())}
	if _, err := tr.RoundTrip(newReq(t, nil, "POST", "other://x/", "body")); !errors.Is(err, io.EOF) || sent != 1 {
		t.Errorf("sent %d times, %v", sent, err)
	}
	noURL := newReq(t, nil, "POST", "http://x/", "")
	noURL.URL = nil
	if _, err := tr.RoundTrip(noURL); err == nil {
		t.Error("a request without a URL has no error")
	}
}
