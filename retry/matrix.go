package retry

import (
	"net/http"

	"example.com/connwise/dialer"
	"example.com/connwise/pool"
)

// A Row is one line of a policy's matrix: a failure of a request's first attempt, whose
// body can be had again, and what the policy says to it.
type Row struct {
	Evidence string `json:"evidence"` // Evidence's String
	Phase    string `json:"phase"`
	Stage    string `json:"stage,omitempty"` // with phase dial, if stages make a difference: dialer.Stage's String
	HeadOnly bool   `json:"head_only"`       // with phase sending: Outcome's HeadOnly
	Timeout  bool   `json:"timeout"`
	Method   string `json:"method"`
	OptIn    string `json:"opt_in"` // OptIn's String
	Retry    bool   `json:"retry"`
	Reason   Reason `json:"reason"`
}

var (
	matrixPhases = []Outcome{
		{Phase: pool.PhaseWait}, {Phase: pool.PhaseDial}, {Phase: pool.PhaseUnsent}, {Phase: pool.PhaseRefused},
		{Phase: pool.PhaseSending, HeadOnly: true}, {Phase: pool.PhaseSending}, {Phase: pool.PhaseSent},
		{Phase: pool.PhaseResponse}, {Phase: pool.PhaseUnknown},
	}
	matrixMethods = []string{
		http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	}
	matrixOptIns = []OptIn{OptInNone, OptInHeader, OptInCall}
)

// Matrix returns every combination of phase (of dial, the stage too if the policy's Stages make
// a difference), timeout, method and opt-in with the policy's verdict, in this order of
// sorting. It is what Decide says, not a copy of the rules.
func Matrix(p Policy) []Row {
	phases := p.matrixPhases()
	rows := make([]Row, 0, len(phases)*2*len(matrixMethods)*len(matrixOptIns))
	for _, o := range phases {
		o.BodyReplayable = true
		for _, o.Timeout = range []bool{false, true} {
			for _, o.Method = range matrixMethods {
				for _, o.Opted = range matrixOptIns {
					v := p.Decide(o)
					rows = append(rows, Row{o.evidence().String(), o.Phase.String(), stageName(o.Stage), o.HeadOnly, o.Timeout, o.Method, o.Opted.String(), v.Retry, v.Reason})
				}
			}
		}
	}
	return rows
}

// matrixPhases are the failures that the policy may judge differently.
func (p *Policy) matrixPhases() []Outcome {
	if len(p.Stages) == 0 {
		return matrixPhases
	}
	var all []Outcome
	for _, o := range matrixPhases {
		if o.Phase != pool.PhaseDial {
			all = append(all, o)
			continue
		}
		for o.Stage = dialer.StageResolve; o.Stage <= dialer.StageTLS; o.Stage++ {
			all = append(all, o)
		}
	}
	return all
}

func stageName(s dialer.Stage) string {
	if s == 0 {
		return ""
	}
	return s.String()
}
