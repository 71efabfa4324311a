package retry

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"example.com/connwise/dialer"
)

// columns of the pinned grids: a method, "+key" with an Idempotency-Key header, "+call"
// with WithIdempotent.
var columns = strings.Fields("GET HEAD OPTIONS TRACE POST PUT PATCH DELETE POST+key POST+call PUT+key PUT+call GET+call")

// grids pins every preset: one line per phase, first without and then with a timeout.
// y: sent again, -: not.
var grids = map[string]string{
	// rules                 GHOT PPPD kckc c   GHOT PPPD kckc c
	"default": `
		wait                 ---- ---- ---- -   ---- ---- ---- -
		dial                 yyyy yyyy yyyy y   yyyy yyyy yyyy y
		unsent               yyyy yyyy yyyy y   yyyy yyyy yyyy y
		refused              yyyy yyyy yyyy y   yyyy yyyy yyyy y
		head-only            yyy- ---- yyyy y   ---- ---- ---- -
		sending              yyy- ---- yyyy y   ---- ---- ---- -
		sent                 yyy- ---- yyyy y   ---- ---- ---- -
		response             yyy- ---- yyyy y   ---- ---- ---- -
		unknown              yyy- ---- yyyy y   ---- ---- ---- -`,
	"never-timeouts": `
		wait                 ---- ---- ---- -   ---- ---- ---- -
		dial                 yyyy yyyy yyyy y   ---- ---- ---- -
		unsent               yyyy yyyy yyyy y   ---- ---- ---- -
		refused              yyyy yyyy yyyy y   ---- ---- ---- -
		head-only            yyy- ---- -y-y y   ---- ---- ---- -
		sending              yyy- ---- -y-y y   ---- ---- ---- -
		sent                 yyy- ---- -y-y y   ---- ---- ---- -
		response             yyy- ---- -y-y y   ---- ---- ---- -
		unknown              yyy- ---- -y-y y   ---- ---- ---- -`,
	"once": `
		wait                 ---- ---- ---- -   ---- ---- ---- -
		dial                 yyyy yyyy yyyy y   yyyy yyyy yyyy y
		unsent               yyyy yyyy yyyy y   yyyy yyyy yyyy y
		refused              yyyy yyyy yyyy y   yyyy yyyy yyyy y
		head-only            yy-- ---- yyyy y   yy-- ---- yyyy y
		sending              yy-- ---- yyyy y   yy-- ---- yyyy y
		sent                 yy-- ---- yyyy y   yy-- ---- yyyy y
		response             yy-- ---- yyyy y   yy-- ---- yyyy y
		unknown              yy-- ---- yyyy y   yy-- ---- yyyy y`,
	"safe-only": `
		wait                 ---- ---- ---- -   ---- ---- ---- -
		dial                 yy-- ---- ---- y   yy-- ---- ---- y
		unsent               yy-- ---- ---- y   yy-- ---- ---- y
		refused              yy-- ---- ---- y   yy-- ---- ---- y
		head-only            yy-- ---- ---- y   yy-- ---- ---- y
		sending              yy-- ---- ---- y   yy-- ---- ---- y
		sent                 yy-- ---- ---- y   yy-- ---- ---- y
		response             yy-- ---- ---- y   yy-- ---- ---- y
		unknown              yy-- ---- ---- y   yy-- ---- ---- y`,
	"off": `
		wait                 ---- ---- ---- -   ---- ---- ---- -
		dial                 ---- ---- ---- -   ---- ---- ---- -
		unsent               ---- ---- ---- -   ---- ---- ---- -
		refused              ---- ---- ---- -   ---- ---- ---- -
		head-only            ---- ---- ---- -   ---- ---- ---- -
		sending              ---- ---- ---- -   ---- ---- ---- -
		sent                 ---- ---- ---- -   ---- ---- ---- -
		response             ---- ---- ---- -   ---- ---- ---- -
		unknown              ---- ---- ---- -   ---- ---- ---- -`,
}

// TestB11_Matrix pins the full matrix of phase, timeout, method and opt-in, by what
// Matrix returns and by what a Transport does with real requests and errors.
func TestB11_Matrix(t *testing.T) {
	if len(grids) != len(Names()) {
		t.Fatalf("%d presets are pinned, there are %d", len(grids), len(Names()))
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			p, ok := Named(name)
			if !ok {
				t.Fatalf("Named(%q) does not exist", name)
			}
			rows := map[string]bool{}
			for _, r := range Matrix(p) {
				rows[rowKey(phaseKey(r), r.Timeout, r.Method, r.OptIn)] = r.Retry
			}
			forEachCell(t, grids[name], func(phase string, timeout bool, method, opt string, want bool) {
				got, ok := rows[rowKey(phase, timeout, method, opt)]
				if !ok || got != want {
					t.Errorf("Matrix: %s timeout=%v %s opt-in %s: retry=%v (in it: %v), want %v", phase, timeout, method, opt, got, ok, want)
				}
				if got := transportRetries(t, p, phase, timeout, method, opt); got != want {
					t.Errorf("Transport: %s timeout=%v %s opt-in %s: retry=%v, want %v", phase, timeout, method, opt, got, want)
				}
			})
		})
	}
}

// TestResendHeadOnly: the opt-in changes one row of the matrix, for every method.
func TestResendHeadOnly(t *testing.T) {
	for _, name := range Names() {
		p, _ := Named(name)
		before := Matrix(p)
		p.ResendHeadOnly = true
		for i, r := range Matrix(p) {
			want := before[i]
			if r.HeadOnly && !want.Retry && want.Reason == ReasonProcessed {
				late := r.Timeout && p.Timeouts != TimeoutsAlways
				want.Retry, want.Reason = !late, ReasonHeadOnly
				if late {
					want.Reason = ReasonTimeout
				}
			}
			if r != want {
				t.Errorf("%s: got %+v, want %+v", name, r, want)
			}
			if got := transportRetries(t, p, phaseKey(r), r.Timeout, r.Method, r.OptIn); r.HeadOnly && got != want.Retry {
				t.Errorf("%s: Transport: %+v, retries: %v", name, r, got)
			}
		}
	}
}

// TestMatrixIsComplete: each combination has its row, once.
func TestMatrixIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Matrix(Default()) {
		key := rowKey(phaseKey(r), r.Timeout, r.Method, r.OptIn)
		if seen[key] {
			t.Errorf("twice: %s", key)
		}
		seen[key] = true
		if r.Reason == "" {
			t.Errorf("no reason: %s", key)
		}
	}
	if want := 9 * 2 * 8 * 3; len(seen) != want {
		t.Errorf("%d rows, want %d", len(seen), want)
	}
}

// TestMatrixOfStages: with Stages, each stage has its rows.
func TestMatrixOfStages(t *testing.T) {
	p := Policy{Stages: map[dialer.Stage]StageRule{dialer.StageResolve: StageNever, dialer.StageTLS: StageNotTimeouts}}
	got := map[string]bool{}
	for _, r := range Matrix(p) {
		if r.Phase == "dial" && r.Method == "POST" && r.OptIn == "none" {
			got[fmt.Sprintf("%s %v", r.Stage, r.Timeout)] = r.Retry
		}
	}
	want := map[string]bool{
		"resolve false": false, "resolve true": false, "connect false": true, "connect true": true,
		"proxy false": true, "proxy true": true, "tls false": true, "tls true": false,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestZeroPolicyIsDefault: a Transport without a Policy has Default's rules.
func TestZeroPolicyIsDefault(t *testing.T) {
	zero, def := Matrix(Policy{}), Matrix(Default())
	for i := range zero {
		if zero[i] != def[i] {
			t.Errorf("zero %v, Default %v", zero[i], def[i])
		}
	}
	if z, d := (&Policy{}).maxRetries(), Default(); z != d.maxRetries() {
		t.Errorf("zero retries %d times, Default %d", z, d.maxRetries())
	}
}

func TestNamed(t *testing.T) {
	if _, ok := Named("no such preset"); ok {
		t.Error("a name that nobody gave is a preset")
	}
	p, ok := Named("")
	if !ok || p.MaxRetries != Default().MaxRetries {
		t.Error("the empty name is not the default's")
	}
}

// phaseKey is a row's name in the grids.
func phaseKey(r Row) string {
	if r.HeadOnly {
		return "head-only"
	}
	return r.Phase
}

func rowKey(phase string, timeout bool, method, opt string) string {
	return fmt.Sprint(phase, timeout, method, opt)
}

func forEachCell(t *testing.T, grid string, f func(phase string, timeout bool, method, opt string, want bool)) {
	lines := strings.Split(strings.TrimSpace(grid), "\n")
	if len(lines) != len(matrixPhases) {
		t.Fatalf("the grid has %d phases, there are %d", len(lines), len(matrixPhases))
	}
	for _, line := range lines {
		phase, cells, _ := strings.Cut(strings.TrimSpace(line), " ")
		cells = strings.ReplaceAll(cells, " ", "")
		if len(cells) != 2*len(columns) {
			t.Fatalf("%s has %d cells, want %d", phase, len(cells), 2*len(columns))
		}
		for i, cell := range cells {
			method, opt, _ := strings.Cut(columns[i%len(columns)], "+")
			opt = map[string]string{"": "none", "key": "header", "call": "call"}[opt]
			f(phase, i >= len(columns), method, opt, cell == 'y')
		}
	}
}

// transportRetries sends a request whose first attempt fails in that way.
func transportRetries(t *testing.T, p Policy, phase string, timeout bool, method, opt string) bool {
	o := phaseNamed(t, phase)
	e := failed(o.Phase)
	if timeout {
		e = timedOutIn(o.Phase)
	}
	e.HeadOnly = o.HeadOnly
	base := newScript(t, e, status(200))
	req := newRequest(t, method, strings.NewReader("body"))
	switch opt {
	case "header":
		req.Header.Set("Idempotency-Key", "k1")
	case "call":
		req = req.WithContext(WithIdempotent(req.Context()))
	}
	resp, err := (&Transport{Base: base, Policy: atOnce(p)}).RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	} else if err != error(e) {
		t.Errorf("%s: got the error %v, want the attempt's own", phase, err)
	}
	if retried := len(base.sent) == 2; retried != (err == nil) {
		t.Errorf("%s: %d attempts and error %v", phase, len(base.sent), err)
	}
	return len(base.sent) == 2
}

func phaseNamed(t *testing.T, name string) Outcome {
	for _, o := range matrixPhases {
		if phaseKey(Row{Phase: o.Phase.String(), HeadOnly: o.HeadOnly}) == name {
			return o
		}
	}
	t.Fatalf("there is no phase %q", name)
	return Outcome{}
}
