package retry

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fixedPool is a noop that is taken for a pool.
type fixedPool struct{ noop }

func (f fixedPool) Attempt(req *http.Request) (*http.Response, error) { return f.RoundTrip(req) }

// overPool takes base for a pool.
func overPool(base interface {
	http.RoundTripper
	attempter
}, p Policy) *Transport {
	t := &Transport{Base: base, Policy: p}
	t.once.Do(t.prepare)
	t.pool = base
	return t
}

// bodyKinds are the bodies that cost differently, and how many allocations each may cost a call
// that succeeds at once, over any Base and over a pool.
func bodyKinds(t testing.TB) []bodyKind {
	name := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(name, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	sized := func(body io.Reader, getBody bool) *http.Request {
		req := newRequest(t, "POST", body)
		req.ContentLength = 4
		if getBody {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("data")), nil }
		}
		return req
	}
	unknown := sized(newStream("data"), true)
	unknown.ContentLength = -1
	return []bodyKind{
		{"none", newRequest(t, "POST", nil), 0, 0},
		{"GetBody", newRequest(t, "POST", strings.NewReader("data")), 0, 0},
		{"GetBody, unknown length", unknown, 1, 1},
		{"seekable", sized(newTape("data"), false), 1, 1},
		{"file", sized(f, false), 1, 1},
		{"one-shot", sized(newStream("data"), false), 1, 1},
		{"one-shot in memory", sized(io.NopCloser(bytes.NewReader([]byte("data"))), false), 1, 0},
		{"one-shot buffer", sized(io.NopCloser(bytes.NewBufferString("data")), false), 1, 0},
	}
}

type bodyKind struct {
	name           string
	req            *http.Request
	allocs, pooled float64
}

// TestA9_BodiesCostOneAllocation: at most, in a call that succeeds at once.
func TestA9_BodiesCostOneAllocation(t *testing.T) {
	for _, k := range bodyKinds(t) {
		for name, tt := range map[string]struct {
			tr   *Transport
			want float64
		}{"any Base": {&Transport{Base: noop{status(200)}}, k.allocs}, "a pool": {overPool(fixedPool{noop{status(200)}}, Policy{}), k.pooled}} {
			if n := testing.AllocsPerRun(100, func() { tt.tr.RoundTrip(k.req) }); n != tt.want {
				t.Errorf("%s over %s: %v allocations, want %v", k.name, name, n, tt.want)
			}
		}
	}
}

// BenchmarkSuccessBodies is what a call that succeeds at once costs by its kind of body; direct
// is a call without retry.
func BenchmarkSuccessBodies(b *testing.B) {
	base := fixedPool{noop{status(200)}}
	run := func(name string, rt http.RoundTripper, req *http.Request) {
		b.Run("body="+strings.NewReplacer(",", "", " ", "-").Replace(name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rt.RoundTrip(req)
			}
		})
	}
	kinds := bodyKinds(b)
	run("direct", base, kinds[0].req)
	for _, k := range kinds {
		run(k.name, overPool(base, Policy{}), k.req)
	}
}
