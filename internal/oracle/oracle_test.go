package oracle

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Where nobody asks for more, so many requests are sent over each protocol: by connwise, with
// -short, and by net/http, of which nothing is asked.
const (
	few     = 1500
	fewer   = 300
	fewOfIt = 200
)

// Each error tells the truth, and what was not processed is sent again. CONNWISE_ORACLE is how
// many requests each client sends over all protocols.
func TestPrecisionAndRecall(t *testing.T) {
	total := setting(t, "CONNWISE_ORACLE", 0)
	seed := uint64(setting(t, "CONNWISE_ORACLE_SEED", int(time.Now().UnixMicro())))
	makers := []maker{connwise, netHTTP}
	rows := make([]row, len(protos)*len(makers))
	t.Run("runs", func(t *testing.T) {
		for i := range rows {
			i := len(rows) - 1 - i // those that take long, first
			p, m := protos[i/len(makers)], makers[i%len(makers)]
			t.Run(p.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				r := perform(t, m, p, seed, m.share(total))
				rows[i] = row{r, r.judge()}
				t.Log(rows[i].details())
				t.Log(r.notes.list())
				if m.name == connwise.name {
					rows[i].check(t)
					rows[i].checkNotes(t)
				}
			})
		}
	})
	t.Logf("CONNWISE_ORACLE_SEED=%d\n%s", seed, table(rows))
}

// share is the load of a client over a protocol, for a total of requests; zero: nobody asks for so
// many.
func (m maker) share(total int) size {
	switch {
	case total > 0:
		return size{max(1, total/len(protos)), 12}
	case m.name == netHTTP.name:
		return size{fewOfIt, 4}
	case testing.Short():
		return size{fewer, 4}
	}
	return size{few, 4}
}

// check asks for what must hold.
func (w row) check(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		n    int
		what string
	}{
		{w.twice, "requests were executed twice"},
		{w.again, "requests were sent again after they had been executed"},
		{w.lost, "answered requests were not executed"},
		{w.wrong, "answers were another request's"},
		{w.spoilt, "bodies were wrong"},
		{w.hung, "attempts hung"},
		{w.falsely, "attempts were executed and called unprocessed"},
		{w.lies, "calls were executed and called unprocessed"},
		{w.unclaimed, "attempts were provably unprocessed and not called so"},
		{w.unretried, "attempts were provably unprocessed and not retried"},
		{w.unsaid, "calls failed in unprocessed attempts alone, and their errors don't say so"},
	} {
		if c.n > 0 {
			t.Errorf("%d %s", c.n, c.what)
		}
	}
	for _, e := range w.examples {
		t.Error(e)
	}
}

// checkNotes asks whether the run was worth something: whether everything that can happen has
// happened. Few requests don't meet all of it.
func (w row) checkNotes(t *testing.T) {
	t.Helper()
	if w.requests < few {
		return
	}
	if w.provable[proofNoConn] == 0 || w.proto.h2 && (w.provable[proofGoAway] == 0 || w.provable[proofRefused] == 0) {
		t.Errorf("there are proofs that nobody had: %v", w.provable)
	}
	if w.requests < 10*few {
		return
	}
	if w.provable[proofNoByte]+w.provable[proofNoHead] == 0 {
		t.Errorf("no connection took nothing of a request: %v", w.provable)
	}
	for _, f := range w.proto.fates() {
		if w.notes.fates[f] == 0 {
			t.Errorf("nobody met with the fate %q", f)
		}
	}
}

// setting is what the environment says, or def.
func setting(t *testing.T, name string, def int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q, want a number", name, s)
	}
	return n
}
