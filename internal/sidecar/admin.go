package sidecar

import (
	"net/http"

	"example.com/connwise/pool"
)

// newAdmin makes the handler of the admin listener. Nothing that it serves is secret, and nothing
// can be changed by it. metrics may be nil.
func newAdmin(p *Proxy, draining <-chan struct{}, metrics func(*Proxy) http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", pool.StatsHandler(p))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-draining:
			http.Error(w, "draining", http.StatusServiceUnavailable)
		default:
			writeText(w, "ok\n")
		}
	})
	mux.HandleFunc("GET /-/config", func(w http.ResponseWriter, _ *http.Request) { writeText(w, p.Settings().YAML()) })
	if metrics != nil {
		mux.Handle("GET /metrics", metrics(p))
	}
	return mux
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(text)) // a client that has left misses nothing
}
