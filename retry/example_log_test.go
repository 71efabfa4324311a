package retry_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// The pool and what decides about retries write to one log.
func ExampleLogDecisions() {
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: onlyWhatStays}))
	p, err := pool.New(pool.Config{
		Trace: pool.LogTrace(log),
		Base: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) { // finds api.test
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		}},
	})
	if err != nil {
		log.Error("no pool", "err", err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p, OnDecision: retry.LogDecisions(log)}}
	if _, err := fetch(context.Background(), client, "http://api.test/"); err != nil {
		log.Error("no answer", "err", err)
	}
	// Output:
	// level=INFO msg=retired host=api.test:80 scheme=http proto=HTTP/1.1 reason="peer closed in use" in_use=true requests=1
	// level=INFO msg=retry method=GET host=api.test phase=sent evidence="maybe sent" reused=false reason="method is repeatable" err="pool: api.test:80: sent, failed before an answer: EOF"
}

// onlyWhatStays leaves out what differs from run to run.
func onlyWhatStays(_ []string, a slog.Attr) slog.Attr {
	if slices.Contains([]string{slog.TimeKey, "conn", "addr", "took", "age", "wait"}, a.Key) {
		return slog.Attr{}
	}
	return a
}
