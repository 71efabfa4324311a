package pool

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// A StatsSource has a snapshot to give: a Transport or a Guard.
type StatsSource interface{ Stats() Stats }

// A statsOfSource has more to tell of one host.
type statsOfSource interface{ StatsOf(host string) Stats }

// StatsHandler serves the source's snapshot to GET and HEAD: as a page to a browser, whose
// Accept names text/html, and as JSON to all others. The page fetches the JSON from its own
// URL every few seconds. It is one document without other assets, and its
// Content-Security-Policy lets nothing run or load that it doesn't have.
//
// With the query ?host=name:port the JSON has the hosts of that name only, by the source's
// StatsOf if it has one.
//
// Both show host names and counters and no secret, but they aren't meant for the public.
// Loopback alone doesn't keep a browser's pages away from them: one whose name has been made to mean
// 127.0.0.1 (DNS rebinding) may ask, so check the request's Host where that matters.
func StatsHandler(src StatsSource) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Vary", "Accept")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case prefersHTML(r.Header.Values("Accept")):
			serveStatsPage(w)
		default:
			serveStatsJSON(w, src, r.URL.Query().Get("host"))
		}
	})
}

func serveStatsJSON(w http.ResponseWriter, src StatsSource, host string) {
	b, err := json.MarshalIndent(snapshotOf(src, host), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	_, _ = w.Write(append(b, '\n'))
}

func serveStatsPage(w http.ResponseWriter) {
	p := statsPage()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.policy)
	w.Header().Set("Content-Length", strconv.Itoa(len(p.html)))
	_, _ = io.WriteString(w, p.html)
}

// snapshotOf is the whole snapshot, or that of the hosts of one name.
func snapshotOf(src StatsSource, host string) Stats {
	if host == "" {
		return src.Stats()
	}
	if of, ok := src.(statsOfSource); ok {
		return of.StatsOf(host)
	}
	return pickHost(src.Stats().Hosts, host)
}

// pickHost is a snapshot of those hosts only.
func pickHost(all []HostStats, host string) (s Stats) {
	s.begin(&Totals{}, len(all))
	for _, h := range all {
		if h.Host == host {
			s.add(func(hs *HostStats) { *hs = h })
		}
	}
	return s
}

// prefersHTML tells whether Accept (RFC 9110 section 12.5.1) names text/html, and wants it no
// less than JSON. */* names nothing: curl sends it.
func prefersHTML(accept []string) bool {
	html, json := 0.0, 0.0
	for media := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, params, _ := strings.Cut(media, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "text/html", "application/xhtml+xml":
			html = max(html, quality(params))
		case "application/json":
			json = max(json, quality(params))
		}
	}
	return html > 0 && html >= json
}

// quality is the weight in the parameters of a media range: one if there is none, and zero,
// which is "not acceptable", if it makes no sense.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		if k, v, _ := strings.Cut(strings.TrimSpace(p), "="); strings.EqualFold(k, "q") {
			q, err := strconv.ParseFloat(v, 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}
