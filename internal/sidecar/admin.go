package sidecar

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

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

// knownHost answers requests for names that don't mean this machine for sure with 421. A page of the
// Web could else have a browser on this machine read what is here, by a name of its own that it has
// made to mean 127.0.0.1. Where other machines may connect, the names aren't known, nor is there
// anything to keep from them.
func knownHost(set *Settings, h http.Handler) http.Handler {
	if set.ListenAnywhere || strings.HasPrefix(set.Admin, unixPrefix) {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && host != "" {
			http.Error(w, "ask by an IP address or localhost, or start the proxy with --listen-anywhere", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(text)) // a client that has left misses nothing
}
