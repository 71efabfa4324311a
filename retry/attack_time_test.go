package retry_test

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// TestWorstCaseIsNeverNegative, however large the settings are.
func TestWorstCaseIsNeverNegative(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	for _, p := range []retry.Policy{
		{}, {Interval: most, MaxInterval: most}, {Backoff: func(int) time.Duration { return most }},
		{RetryStatuses: []int{503}, MaxRetryAfter: most}, {MaxRetries: 1000, Interval: most / 1000, MaxInterval: most / 1000},
	} {
		if got := p.WorstCase(most / 2); got != most {
			t.Errorf("%+v: %v", p, got)
		}
		p.CallTimeout = time.Second
		if got := p.WorstCase(-1); got > time.Second || got < 0 {
			t.Errorf("%+v: with CallTimeout %v", p, got)
		}
	}
}

// A stuckFile can be rewound, but once a Read of it has begun it hangs.
type stuckFile struct{ begun, free chan struct{} }

func (f *stuckFile) Read([]byte) (int, error)       { close(f.begun); <-f.free; return 0, io.EOF }
func (f *stuckFile) Seek(int64, int) (int64, error) { return 0, nil }
func (f *stuckFile) Close() error                   { return nil }

// TestCallTimeoutBoundsTheWaitForTheBody: a Base goes on reading from it after it has failed.
func TestCallTimeoutBoundsTheWaitForTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &stuckFile{make(chan struct{}), make(chan struct{})}
		defer close(f.free)
		dial := &net.OpError{Op: "dial", Err: errors.New("unreachable")}
		tr := &retry.Transport{Policy: retry.Policy{CallTimeout: time.Second}, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
			go req.Body.Read(make([]byte, 1))
			<-f.begun
			return nil, dial
		})}
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://x/", f)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = tr.RoundTrip(req)
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
		late, ok := errors.AsType[*retry.TimeoutError](err)
		if !ok || late.Field != "CallTimeout" || !errors.Is(err, dial) {
			t.Errorf("got %v", err)
		}
	})
}

// TestUpgradeWithAttemptTimeout: the limit is gone with the answer's head, and the connection is
// as it is without: its two ways are closed one by one.
func TestUpgradeWithAttemptTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := make(chan string, 1)
	go upgradeAll(ln, got)
	pooled, err := pool.New(pool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Close()
	stock := &http.Transport{}
	defer stock.CloseIdleConnections()
	for name, base := range map[string]http.RoundTripper{"pool": pooled, "net/http": stock} {
		tr := &retry.Transport{Base: base, Policy: retry.Policy{AttemptTimeout: time.Minute, CallTimeout: time.Hour}}
		req := newReq(t, nil, "GET", "http://"+ln.Addr().String(), "")
		req.Header = http.Header{"Connection": {"upgrade"}, "Upgrade": {"x"}}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(name, err)
		}
		conn, ok := resp.Body.(interface {
			io.ReadWriteCloser
			CloseWrite() error
		})
		if !ok {
			t.Fatalf("%s: the body is a %T", name, resp.Body)
		}
		said, err := io.ReadAll(conn)
		if err != nil || string(said) != "hello" {
			t.Errorf("%s: read %q, %v", name, said, err)
		}
		if _, err := io.WriteString(conn, "after the end"); err != nil {
			t.Errorf("%s: write: %v", name, err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s := <-got; s != "after the end" {
			t.Errorf("%s: the server got %q", name, s)
		}
		conn.Close()
	}
}

// upgradeAll greets each connection, closes it for writing, and tells what it reads from then on.
func upgradeAll(ln net.Listener, got chan<- string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		br := bufio.NewReader(c)
		http.ReadRequest(br)
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello")
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(br)
		got <- string(b)
		c.Close()
	}
}
