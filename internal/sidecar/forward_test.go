package sidecar

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRequestsAreForwarded looks at what the upstream gets, for each setting that changes it.
func TestRequestsAreForwarded(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s host=%s via=%q for=%q fhost=%q proto=%q fwd=%q hop=%q conn=%q te=%q len=%d body=%s",
			r.Method, r.RequestURI, r.Host, r.Header["Via"], r.Header["X-Forwarded-For"], r.Header["X-Forwarded-Host"],
			r.Header["X-Forwarded-Proto"], r.Header["Forwarded"], r.Header["X-Hop"], r.Header["Connection"], r.Header["Te"], r.ContentLength, b)
	})
	upHost := strings.TrimPrefix(up.URL, "http://")
	fields := []string{"Connection", "X-Hop, close", "X-Hop", "1", "Te", "trailers", "Te", "gzip", "Via", "1.0 fred",
		"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Host", "their.example", "X-Forwarded-Proto", "https", "Forwarded", "for=192.0.2.1"}
	for _, tt := range []struct {
		name, path, target string
		flags              []string
		want               string // "HOST" is the sidecar's address
	}{
		{"defaults", "", "/a%2Fb?x=%zz;y=1", nil,
			`POST /a%2Fb?x=%zz;y=1 host=` + upHost + ` via=["1.0 fred" "1.1 connwise"] for=["192.0.2.1, 127.0.0.1"] fhost=["their.example"] proto=["https"] fwd=["for=192.0.2.1"]`},
		{"replace", "/base/", "/a?", []string{"forward.x_forwarded=replace", "forward.host=client"},
			`POST /base/a? host=HOST via=["1.0 fred" "1.1 connwise"] for=["127.0.0.1"] fhost=["HOST"] proto=["http"] fwd=[]`},
		{"keep", "/base", "/", []string{"forward.x_forwarded=keep", "forward.host=api.example", "forward.via=none"},
			`POST /base/ host=api.example via=["1.0 fred"] for=["192.0.2.1"] fhost=["their.example"] proto=["https"] fwd=["for=192.0.2.1"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, append(tt.flags, "upstream="+up.URL+tt.path)...)
			resp, got := r.do("POST", tt.target, unsized("hello"), fields...)
			want := strings.ReplaceAll(tt.want, "HOST", r.addr.String()) + ` hop=[] conn=["keep-alive"] te=["trailers"] len=5 body=hello`
			if resp.StatusCode != 200 || got != want {
				t.Errorf("the upstream got\n%s, want\n%s", got, want)
			}
			if resp.Header.Get(fieldUnprocessed) != "" || resp.Header.Get("Via") != "" {
				t.Errorf("the answer has fields of the sidecar's: %v", resp.Header)
			}
		})
	}
}

// TestAnswersAreTheUpstreams checks that its fields and bytes arrive as they are, but for those
// that only the sidecar may say, and those for one connection.
func TestAnswersAreTheUpstreams(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Set-Cookie"] = []string{"a=1", "b=2"}
		h.Set("Content-Encoding", "gzip")
		h.Set("Connection", "X-Private")
		h.Set("X-Private", "1")
		h.Set("Keep-Alive", "timeout=5")
		for _, f := range []string{fieldUnprocessed, fieldPhase, fieldRetries} {
			h.Set(f, "true")
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "not gzip at all")
	})
	r := start(t, "upstream="+up.URL)
	resp, body := r.do("GET", "/", nil)
	if resp.StatusCode != http.StatusTeapot || body != "not gzip at all" || resp.ContentLength != 15 {
		t.Errorf("got %d, %q, length %d", resp.StatusCode, body, resp.ContentLength)
	}
	wantField(t, resp.Header, "Set-Cookie", "a=1|b=2")
	wantField(t, resp.Header, "Content-Encoding", "gzip")
	for _, f := range []string{fieldUnprocessed, fieldPhase, fieldRetries, "X-Private", "Keep-Alive"} {
		wantField(t, resp.Header, f, "")
	}
}

func TestTrailersPassBothWays(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = w.Write(b)
		w.Header().Set("X-Sum", r.Trailer.Get("X-Asked"))
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	})
	for _, tt := range []struct{ name, memory string }{{"kept", "64MiB"}, {"streamed", "none"}} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, "upstream="+up.URL, "replay.memory="+tt.memory)
			req, _ := http.NewRequestWithContext(t.Context(), "POST", r.url, unsized("body"))
			req.Trailer = http.Header{"X-Asked": {"42"}}
			resp, err := newClient(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if string(b) != "body" || err != nil {
				t.Errorf("body %q, error %v", b, err)
			}
			wantField(t, resp.Trailer, "X-Sum", "42")
			wantField(t, resp.Trailer, "X-Late", "2")
		})
	}
}

// TestForwardedForOneHop leaves out what the client has said in Connection isn't for the upstream.
func TestForwardedForOneHop(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header["X-Forwarded-For"], r.Header["X-Forwarded-Proto"], r.Header["Forwarded"])
	})
	for how, want := range map[string]string{forwardedAppend: "[127.0.0.1] [http] []", forwardedKeep: "[] [] []"} {
		r := start(t, "upstream="+up.URL, "forward.x_forwarded="+how)
		_, got := r.do("GET", "/", nil, "Connection", "x-forwarded-for, X-Forwarded-Proto , forwarded",
			"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https", "Forwarded", "for=192.0.2.1")
		if got != want {
			t.Errorf("%s: the upstream got %s, want %s", how, got, want)
		}
	}
}
