package pool

import "testing"

func TestErrorSaysWhetherItIsUnprocessed(t *testing.T) {
	for p := PhaseUnknown; p <= PhaseResponse; p++ {
		want := p == PhaseWait || p == PhaseDial || p == PhaseUnsent || p == PhaseRefused
		if got := (&Error{Phase: p}).Unprocessed(); got != want {
			t.Errorf("%v: %v", p, got)
		}
	}
}
