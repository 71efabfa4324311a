package retry_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// logged makes a call and logs it as one event. Only a call that was retried has the attributes
// retries and retry_errors: with them and no error, a failure was absorbed. The group has no
// name, so that they stand in the event itself, and the report is a pointer: its LogValue is the
// pointer's. (fetch is in example_client_test.go.)
func logged(ctx context.Context, log *slog.Logger, client *http.Client, url string) {
	var report retry.Report
	_, err := fetch(retry.WithReport(ctx, &report), client, url)
	level, attrs := slog.LevelInfo, []any{"url", url, "", &report}
	switch {
	case err != nil:
		level, attrs = slog.LevelError, append(attrs, "err", err)
	case report.Retries > 0:
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "call", attrs...)
	for n, a := range report.Attempts { // none, if it wasn't retried
		log.Debug("attempt", "n", n+1, "phase", a.Phase, "reused", a.Reused, "status", a.Status, "reason", a.Reason)
	}
}

// A report goes into an event of log/slog as it is.
func ExampleReport_LogValue() {
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{Base: &http.Transport{ // pool.Config{} as a rule; this one finds api.test
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
		},
	}})
	if err != nil {
		slog.Error("no pool", "err", err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
	logged(context.Background(), log, client, "http://api.test/retried")
	logged(context.Background(), log, client, "http://api.test/answered")
	// Output:
	// level=WARN msg=call url=http://api.test/retried retries=1 retry_errors="[pool: api.test:80: sent, failed before an answer: EOF]"
	// level=DEBUG msg=attempt n=1 phase=sent reused=false status=0 reason="method is repeatable"
	// level=DEBUG msg=attempt n=2 phase=response reused=false status=200 reason=""
	// level=INFO msg=call url=http://api.test/answered
}

// withoutTime keeps the example's output the same.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
