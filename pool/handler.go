package pool

import (
	"encoding/json"
	"net/http"
)

// A StatsSource has a snapshot to give: a Transport or a Guard.
type StatsSource interface{ Stats() Stats }

// StatsHandler serves the source's snapshot as JSON, to GET and HEAD. It shows host
// names and counters and no secret, but it isn't meant for the public.
func StatsHandler(src StatsSource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		b, err := json.MarshalIndent(src.Stats(), "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(append(b, '\n'))
	})
}
