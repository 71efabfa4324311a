package sidecar

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// A logged ResponseWriter knows what it was told.
type logged struct {
	http.ResponseWriter
	began  time.Time
	status int
	bytes  int64
}

// Unwrap is for http.ResponseController.
func (l *logged) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// WriteHeader notes the final status. Informational answers come before it.
func (l *logged) WriteHeader(status int) {
	if l.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		l.status = status
	}
	l.ResponseWriter.WriteHeader(status)
}

// Hijack is httputil.ReverseProxy's way to a 101.
func (l *logged) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	l.status = http.StatusSwitchingProtocols
	return http.NewResponseController(l.ResponseWriter).Hijack()
}

// Write counts the body's bytes.
func (l *logged) Write(p []byte) (int, error) {
	if l.status == 0 {
		l.status = http.StatusOK
	}
	n, err := l.ResponseWriter.Write(p)
	l.bytes += int64(n)
	return n, err
}

// logRequest writes the line of log.requests. It has the path and not the query, which may hold
// secrets. Status 0: the client got none.
func (g *generation) logRequest(l *logged, r *http.Request) {
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("proto", r.Proto),
		slog.Int("status", l.status), slog.Int64("bytes", l.bytes), slog.Duration("took", time.Since(l.began)),
	}
	if retries := l.Header().Get(fieldRetries); retries != "" {
		attrs = append(attrs, slog.String("retries", retries))
	}
	g.p.log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}
