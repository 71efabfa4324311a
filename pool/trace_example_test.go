package pool_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"example.com/connwise/pool"
)

// A service at level Info or Warn sees what goes wrong; at Debug, as here, each connection's life.
func ExampleLogTrace() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: onlyWhatStays}))
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
	client := &http.Client{Transport: p}
	for range 2 {
		resp, err := client.Get("http://api.test/")
		if err != nil {
			log.Error("no answer", "err", err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	p.CloseIdleConnections()
	// Output:
	// level=DEBUG msg=dialled host=api.test:80 scheme=http proto=HTTP/1.1
	// level=DEBUG msg=waited host=api.test:80 scheme=http queue=1
	// level=DEBUG msg=reused host=api.test:80 scheme=http proto=HTTP/1.1 requests=1
	// level=DEBUG msg=retired host=api.test:80 scheme=http proto=HTTP/1.1 reason="closed while idle" requests=2
}

// onlyWhatStays leaves out what differs from run to run.
func onlyWhatStays(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, "conn", "addr", "took", "idle", "age":
		return slog.Attr{}
	}
	return a
}
