package retry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

// TestB8_LogValue: an event of a retried call has retries and retry_errors, another one
// carries neither.
func TestB8_LogValue(t *testing.T) {
	log := func(r *Report) string {
		var b bytes.Buffer
		slog.New(slog.NewJSONHandler(&b, nil)).Info("call", slog.Any("", r))
		return b.String()
	}
	got := log(&Report{Retries: 2, Errors: []error{failed(pool.PhaseDial), failed(pool.PhaseUnsent)}})
	want := `"retries":2,"retry_errors":["` + failed(pool.PhaseDial).Error() + `","` + failed(pool.PhaseUnsent).Error() + `"]`
	if !strings.Contains(got, want) {
		t.Errorf("logged %s, want %s in it", got, want)
	}
	for _, r := range []*Report{nil, {}} {
		if got := log(r); strings.Contains(got, "retr") {
			t.Errorf("logged %s for a call that wasn't retried", got)
		}
	}
}
