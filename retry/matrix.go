package retry

import (
	"net/http"

	"example.com/connwise/pool"
)

// A Row is one line of a policy's matrix: a failure of a request's first attempt, whose
// body can be had again, and what the policy says to it.
type Row struct {
	Phase   string `json:"phase"`
	Timeout bool   `json:"timeout"`
	Method  string `json:"method"`
	OptIn   string `json:"opt_in"` // OptIn's String
	Retry   bool   `json:"retry"`
	Reason  Reason `json:"reason"`
}

var (
	matrixPhases = []pool.Phase{
		pool.PhaseWait, pool.PhaseDial, pool.PhaseUnsent, pool.PhaseRefused,
		pool.PhaseSending, pool.PhaseSent, pool.PhaseResponse, pool.PhaseUnknown,
	}
	matrixMethods = []string{
		http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	}
	matrixOptIns = []OptIn{OptInNone, OptInHeader, OptInCall}
)

// Matrix returns every combination of phase, timeout, method and opt-in with the policy's
// verdict, in this order of sorting. It is what Decide says, not a copy of the rules.
func Matrix(p Policy) []Row {
	rows := make([]Row, 0, len(matrixPhases)*2*len(matrixMethods)*len(matrixOptIns))
	for _, phase := range matrixPhases {
		for _, timeout := range []bool{false, true} {
			for _, method := range matrixMethods {
				for _, opt := range matrixOptIns {
					o := Outcome{Phase: phase, Timeout: timeout, Method: method, Opted: opt, BodyReplayable: true}
					v := p.Decide(o)
					rows = append(rows, Row{phase.String(), timeout, method, opt.String(), v.Retry, v.Reason})
				}
			}
		}
	}
	return rows
}
