package retry

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// at is a failure on a connection to an address.
func at(phase pool.Phase, addr string) *pool.Error {
	e := failed(phase)
	e.Addr = addr
	return e
}

// Each attempt avoids the addresses on which those before have failed.
func TestAttemptsPreferOtherAddresses(t *testing.T) {
	type key struct{}
	tests := []struct {
		name string
		ends []any
		want []string // what each attempt avoids
	}{
		{"no failure", []any{status(200)}, []string{""}},
		{"one", []any{at(pool.PhaseSent, "a"), status(200)}, []string{"", "a"}},
		{"two", []any{at(pool.PhaseSending, "a"), at(pool.PhaseResponse, "b"), status(200)}, []string{"", "a", "a b"}},
		{"the same again", []any{at(pool.PhaseUnsent, "a"), at(pool.PhaseRefused, "a"), status(200)}, []string{"", "a", "a"}},
		{"a failed dial in between", []any{at(pool.PhaseSent, "a"), failed(pool.PhaseDial), status(200)}, []string{"", "a", "a"}},
		{"no address", []any{failed(pool.PhaseDial), errWire, status(200)}, []string{"", "", ""}},
		{"an answer", []any{status(503, "Retry-After", "0"), status(200)}, []string{"", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := newScript(t, tt.ends...)
			var got []string
			base.other = func(r *http.Request) {
				if r.Context().Value(key{}) != "value" {
					t.Error("a value of the context's is gone")
				}
				got = append(got, strings.Join(dialer.Avoided(r.Context()), " "))
			}
			p := atOnce(Default())
			p.RetryStatuses = []int{503}
			req := newRequest(t, "GET", nil).WithContext(context.WithValue(t.Context(), key{}, "value"))
			resp, err := (&Transport{Base: base, Policy: p}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if !answers(resp, req) {
				t.Error("the answer's Request is not the caller's")
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the attempts avoid %q, want %q", got, tt.want)
			}
		})
	}
}

// A body that is rewound goes with the attempt.
func TestAttemptsElsewhereHaveTheirBodies(t *testing.T) {
	base := newScript(t, at(pool.PhaseRefused, "a"), at(pool.PhaseSent, "b"), status(200))
	req := newRequest(t, "POST", strings.NewReader("the body"))
	req.Header.Set("Idempotency-Key", "1")
	resp, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for i, s := range base.sent[1:] {
		if s.body != "the body" {
			t.Errorf("attempt %d sent %q", i+2, s.body)
		}
	}
}
