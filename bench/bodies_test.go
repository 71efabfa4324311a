package bench

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// edited is a body of which each piece is changed as it is read.
type edited struct {
	io.ReadCloser
	edit func([]byte) []byte
}

func (b edited) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	return copy(p, b.edit(p[:n])), err
}

// flip changes one byte of 8 MiB.
func flip() func([]byte) []byte {
	done := false
	return func(p []byte) []byte {
		if !done && len(p) > 0 {
			p[len(p)-1]++
			done = true
		}
		return p
	}
}

// TestDamageIsFound runs clients that change what they carry, next to one that doesn't.
func TestDamageIsFound(t *testing.T) {
	down := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(req)
			if err == nil {
				resp.Body = edited{resp.Body, flip()}
			}
			return resp, err
		}
	}
	short := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := rt.RoundTrip(req)
			if err == nil {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{io.LimitReader(resp.Body, largeBody-1), resp.Body}
			}
			return resp, err
		}
	}
	up := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			if req.Body != nil {
				req = req.Clone(req.Context())
				req.Body = edited{req.Body, flip()}
			}
			return rt.RoundTrip(req)
		}
	}
	o := smoke()
	o.Requests, o.Workers, o.Duration = 2, 1, time.Minute
	o.Scenarios, o.Protos = []string{"download", "upload"}, []string{"h1", "h2c"}
	o.Clients = []Client{wrapped("down", down), wrapped("short", short), wrapped("up", up), Connwise(), NetHTTP()}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		name := r.Scenario + " " + r.Proto + " " + r.Client
		damaged, failed := int64(0), int64(0)
		switch {
		case r.Client == "up" && r.Scenario == "upload": // the server knows, and answers
			damaged = r.Requests
		case r.Client == "down", r.Client == "short" && r.Scenario == "download": // small answers too
			damaged, failed = r.Requests, r.Requests
		}
		if *r.Damaged != damaged || r.Failed != failed || *r.Lost != 0 || *r.Avoidable != 0 || r.Requests != 2 {
			t.Errorf("%s: %d requests, %d damaged, %d failed, %d lost, %d avoidable; want 2, %d, %d, 0, 0", name, r.Requests, *r.Damaged, r.Failed, *r.Lost, *r.Avoidable, damaged, failed)
		}
		if failed > 0 && !strings.Contains(r.FirstError, errDamaged.Error()) {
			t.Errorf("%s: first error %q", name, r.FirstError)
		}
		if (r.MiBPerS != nil) != (failed == 0) || r.MiBPerS != nil && (*r.MiBPerS <= 0 || haveCPU && *r.CPUPerMiB <= 0) {
			t.Errorf("%s: %v MiB/s, %v us for each", name, r.MiBPerS, r.CPUPerMiB)
		}
	}
}

// TestHalfOfTheUploadsAreChunked counts what a client is given.
func TestHalfOfTheUploadsAreChunked(t *testing.T) {
	var sized, chunked, other atomic.Int64
	count := func(rt http.RoundTripper) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			switch req.ContentLength {
			case largeBody:
				sized.Add(1)
			case -1:
				chunked.Add(1)
			default:
				other.Add(1)
			}
			return rt.RoundTrip(req)
		}
	}
	o := smoke()
	o.Scenarios, o.Protos, o.Clients, o.Requests = []string{"upload"}, []string{"h1"}, []Client{wrapped("x", count)}, 4
	o.Duration = time.Minute
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := []int64{sized.Load(), chunked.Load(), other.Load()}; !slices.Equal(got, []int64{2, 2, 0}) || *rep.Results[0].Damaged != 0 {
		t.Errorf("of known length, unknown and neither: %d; want 2, 2, 0", got)
	}
}
