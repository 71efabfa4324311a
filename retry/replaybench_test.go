package retry

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"example.com/connwise/pool"
)

// A stumbler reads each body to its end, and fails each other attempt.
type stumbler struct {
	resp *http.Response
	err  error
	down bool
}

func (s *stumbler) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	if s.down = !s.down; s.down {
		return nil, s.err
	}
	return s.resp, nil
}

func (s *stumbler) Attempt(req *http.Request) (*http.Response, error) { return s.RoundTrip(req) }

// BenchmarkReplay is a POST that fails once, on a connection that had been closed, and is
// sent again at once: by where its body's bytes come from the second time.
func BenchmarkReplay(b *testing.B) {
	data := bytes.Repeat([]byte("data"), 256)
	for _, k := range []struct {
		name string
		set  func(*http.Request)
	}{
		{"none", func(r *http.Request) { r.Body, r.GetBody, r.ContentLength = nil, nil, 0 }},
		{"GetBody", func(r *http.Request) { r.Body, _ = r.GetBody() }},
		{"seekable", func(r *http.Request) { r.Body, r.GetBody = newTape(string(data)), nil }},
		{"memory", func(r *http.Request) { r.Body, r.GetBody = io.NopCloser(bytes.NewReader(data)), nil }},
	} {
		b.Run("body="+k.name, func(b *testing.B) {
			req := newRequest(b, "POST", bytes.NewReader(data))
			base := &stumbler{resp: status(200), err: failed(pool.PhaseUnsent)}
			tr := overPool(base, atOnce(Policy{}))
			b.ReportAllocs()
			for b.Loop() {
				k.set(req)
				if _, err := tr.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
