package retry

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
)

func TestLogDecisions(t *testing.T) {
	req, err := http.NewRequest("POST", "http://user:hunter2@h.test/hunter2?hunter2", nil)
	if err != nil {
		t.Fatal(err)
	}
	lost := Attempt{Phase: pool.PhaseSent, Addr: "192.0.2.1:80", Reused: true, Took: time.Second, Err: errors.New("lost")}
	unsent := Attempt{Phase: pool.PhaseUnsent, Evidence: EvidenceNeverSent, Err: errors.New("stale")}
	for _, tt := range []struct {
		d    Decision
		want string
	}{
		{Decision{Attempt: unsent, Retry: true, Reason: ReasonUnprocessed, Wait: time.Second},
			`level=INFO msg=retry method=POST host=h.test phase=unsent evidence="never sent" reused=false took=0s reason="not processed" wait=1s err=stale`},
		{Decision{Attempt: lost, Reason: ReasonProcessed},
			`level=DEBUG msg="no retry" method=POST host=h.test phase=sent evidence="maybe sent" reused=true took=1s reason="may have been executed" addr=192.0.2.1:80 err=lost`},
		{Decision{Attempt: unsent, Reason: ReasonBudget},
			`level=WARN msg="no retry" method=POST host=h.test phase=unsent evidence="never sent" reused=false took=0s reason="budget is spent" err=stale`},
		{Decision{Attempt: Attempt{Phase: pool.PhaseResponse, Status: 503}, Reason: ReasonExhausted},
			`level=WARN msg="no retry" method=POST host=h.test phase=response reused=false took=0s reason="out of retries" status=503`},
	} {
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		tt.d.Request = req
		LogDecisions(log)(tt.d)
		if got := strings.TrimSpace(b.String()); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
		b.Reset()
		LogDecisions(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelError})))(tt.d)
		if b.Len() > 0 {
			t.Errorf("at level Error: %s", b.String())
		}
	}
}
