package retry_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/dialer"
	"example.com/connwise/health"
	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// What a lookup gives.
const (
	found   = "found"   // the origin's address
	refused = "refused" // an address of the loopback network where nobody listens
	noHost  = "no host" // a resolver's error
	noWord  = "no word" // none before the lookup is given up
)

// lookups is a resolver that follows a script; past it, the origin is found.
type lookups struct {
	mu     sync.Mutex
	script []string
}

func (l *lookups) LookupHost(ctx context.Context, host string) ([]string, error) {
	switch l.next() {
	case refused:
		return []string{"127.77.1.1"}, nil
	case noHost:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case noWord:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []string{"127.0.0.1"}, nil
}

func (l *lookups) next() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.script) == 0 {
		return found
	}
	end := l.script[0]
	l.script = l.script[1:]
	return end
}

// A rig is an http.Client over the retry layer over a real pool.
type rig struct {
	*http.Client
	t     *testing.T
	pool  *pool.Transport
	retry *retry.Transport
	names *lookups
	dials chan net.Conn // with watched: the first sockets, as they were dialled
}

// newRig makes one. Lookups follow the script; change adjusts the pool's settings.
func newRig(t *testing.T, p retry.Policy, script []string, change func(*rig, *pool.Config)) *rig {
	t.Helper()
	r := &rig{t: t, names: &lookups{script: script}, dials: make(chan net.Conn, 8)}
	cfg := pool.Config{
		Base:   &http.Transport{TLSClientConfig: &tls.Config{RootCAs: rootPool()}},
		Dialer: &dialer.Dialer{Resolver: r.names},
	}
	if change != nil {
		change(r, &cfg)
	}
	tr, err := pool.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	r.pool = tr
	r.retry = &retry.Transport{Base: tr, Policy: p}
	r.Client = &http.Client{Transport: r.retry}
	return r
}

// watched makes a rig hand its sockets over, to see on them what the peer did.
func watched(r *rig, cfg *pool.Config) {
	d := *cfg.Dialer
	cfg.Dialer = nil
	cfg.Base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err == nil {
			r.dials <- c
		}
		return c, err
	}
}

// quick is a policy without waits, so that tests that aren't about time have none.
func quick(p retry.Policy) retry.Policy {
	p.Backoff = func(int) time.Duration { return 0 }
	return p
}

// A result is what a caller gets.
type result struct {
	method string
	status int
	body   string
	err    error
	report retry.Report
}

// do sends a request and reads the answer. keys and values of headers may follow.
func (r *rig) do(method, url string, body io.Reader, headers ...string) result {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return r.send(req)
}

func (r *rig) send(req *http.Request) (res result) {
	res.method = req.Method
	ctx := retry.WithReport(req.Context(), &res.report)
	resp, err := r.Do(req.WithContext(ctx))
	if err != nil {
		res.err = err
		return res
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	res.status, res.body, res.err = resp.StatusCode, string(b), err
	return res
}

// wantOK checks that a call succeeded after so many retries.
func (r *rig) wantOK(res result, retries int) {
	r.t.Helper()
	want := "ok"
	if res.method == http.MethodHead {
		want = ""
	}
	if res.err != nil || res.status != 200 || res.body != want {
		r.t.Errorf("%s: got %d, %q, %v; want 200 and %q", res.method, res.status, res.body, res.err, want)
	}
	r.wantRetries(res, retries)
}

func (r *rig) wantRetries(res result, n int) {
	r.t.Helper()
	if res.report.Retries != n || len(res.report.Errors) != n {
		r.t.Errorf("%d retries because of %v, want %d", res.report.Retries, res.report.Errors, n)
	}
}

// waitClosed waits until the peer's close, or the first sign of it, has arrived at a
// socket of ours. There is no event for it that wouldn't take it from the pool.
func waitClosed(t *testing.T, c net.Conn) {
	t.Helper()
	waitFor(t, func() bool { v, _ := health.Socket(c); return v != health.Alive })
}

// waitFor waits for a state that no event announces.
func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("what was waited for did not come")
		}
	}
}

// A payload is a kind of request.
type payload struct {
	name, method string
	body         func() (io.Reader, string) // and its content type
	sent         string                     // what the server has to receive
}

// payloads are the requests of rule A1: with a body, without, and a multipart upload.
func payloads() []payload {
	none := func() (io.Reader, string) { return nil, "" }
	text := func() (io.Reader, string) { return strings.NewReader(`{"a":1}`), "application/json" }
	upload, contentType := multipartUpload()
	return []payload{
		{"GET", "GET", none, ""},
		{"POST", "POST", text, `{"a":1}`},
		{"DELETE", "DELETE", none, ""},
		{"upload", "POST", func() (io.Reader, string) { return strings.NewReader(upload), contentType }, upload},
	}
}

// multipartUpload is a form with a file of 512 KiB.
var multipartUpload = sync.OnceValues(func() (body, contentType string) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", "upload.bin")
	part.Write(bytes.Repeat([]byte("0123456789abcdef"), 32<<10))
	w.WriteField("purpose", "test")
	w.Close()
	return form.String(), w.FormDataContentType()
})

func (r *rig) sendPayload(url string, p payload) result {
	r.t.Helper()
	return r.send(r.request(p.method, url, p))
}

// request makes one with the payload's body.
func (r *rig) request(method, url string, p payload, headers ...string) *http.Request {
	r.t.Helper()
	body, contentType := p.body()
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (p payload) seen() seen { return seen{method: p.method, body: p.sent} }
