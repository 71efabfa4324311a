package scenario

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A server whose accept queue overflows takes connections, and resets each with its first
// bytes. Thousands of callers fail at once then, and each would come back twice.

// A surge is many calls at once by one retrying transport.
type surge struct {
	*retry.Transport
	failed, maybe atomic.Int64 // calls that failed, those of them that may have run
}

const stormed = 2000

func (s *surge) rage(t *testing.T, method, url string, kind bodyKind) {
	t.Helper()
	together(stormed, func(int) {
		err := doer(s.RoundTrip).send(newPatient(t, method, url, kind))
		if err == nil {
			return
		}
		s.failed.Add(1)
		if e := poolError(t, err); (e.Sent > 0) == e.Phase.Unprocessed() && e.Phase != pool.PhaseRefused || e.Reused || e.Timeout() {
			t.Errorf("%d bytes sent: %#v (%v)", e.Sent, e, err)
		} else if !e.Phase.Unprocessed() {
			s.maybe.Add(1)
		}
	})
}

// Where bytes were taken, the retries of all calls are a tenth of them at most, in place of twice
// as many; and a POST has none.
func TestAStormOfLostRequestsIsNotDoubled(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r := newRig(t, plain)
		var arrived atomic.Int64
		p := r.peer(func(c *peerConn) {
			if c.arrives() {
				arrived.Add(1)
				leaveRST.by(c)
			}
		})
		s := surge{Transport: &retry.Transport{Base: r.pool(pool.Config{})}}
		s.rage(t, method, p.url, noBody)
		st := s.Stats()
		t.Logf("%s: %d arrived, retries %v, refused %v, budget %+v", method, arrived.Load(), st.Retries, st.Refused, st.Budget)
		most := 0
		if method == http.MethodGet {
			most = stormed / 10
			if st.Refused[retry.ReasonBudget] == 0 {
				t.Error("no retry was refused by the budget")
			}
		}
		if n := int(st.Retries[retry.EvidenceMaybeSent.String()]); n > most || method == http.MethodGet && n < most/2 {
			t.Errorf("%s: %d of %d requests were sent again, want %d", method, n, stormed, most)
		}
		if n := int(arrived.Load()); n > stormed+most {
			t.Errorf("%s: %d requests arrived of %d, at most %d more are right", method, n, stormed, most)
		}
		if s.failed.Load() != stormed {
			t.Errorf("%s: %d calls failed of %d", method, s.failed.Load(), stormed)
		}
	}
}

// Where none was taken, any method may go again, but the calls have one retry each on the average,
// not two.
func TestAStormOfUnsentRequestsIsDoubledAtMost(t *testing.T) {
	r := newRig(t, plain)
	p := r.peer(func(c *peerConn) { // resets what is a TLS handshake to the client
		if c.arrives() {
			leaveRST.by(c)
		}
	})
	s := surge{Transport: &retry.Transport{Base: r.pool(pool.Config{})}}
	s.rage(t, http.MethodPost, "https"+strings.TrimPrefix(p.url, "http"), oneShot)
	st := s.Stats()
	t.Logf("%d connections, retries %v, refused %v, budget %+v", p.conns(), st.Retries, st.Refused, st.Budget)
	if n := int(st.Retries[retry.EvidenceNeverSent.String()]); n > stormed || n == 0 || s.maybe.Load() > 0 {
		t.Errorf("%d retries of %d requests, %d of which may have run", n, stormed, s.maybe.Load())
	}
	if n := p.conns(); n > 2*stormed {
		t.Errorf("%d connections for %d requests", n, stormed)
	}
}

// The accounts are apart: a storm of lost GETs doesn't keep a POST from going again that never
// left. And several transports may share a budget.
func TestAStormOfLostRequestsLeavesTheUnsentTheirs(t *testing.T) {
	r := newRig(t, plain)
	bad := r.peer(func(c *peerConn) {
		if c.arrives() {
			leaveRST.by(c)
		}
	})
	budget := &retry.Budget{Floor: 10, Share: -1}
	surges := [2]surge{}
	var wg sync.WaitGroup
	for i := range surges {
		surges[i].Transport = &retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default()), Budget: budget}
		wg.Go(func() {
			together(100, func(int) {
				doer(surges[i].RoundTrip).send(newPatient(t, http.MethodGet, bad.url, noBody))
			})
		})
	}
	wg.Wait()
	if n := surges[0].Stats().Retries["maybe sent"] + surges[1].Stats().Retries["maybe sent"]; n != 10 {
		t.Errorf("%d retries of two transports that share a budget of 10", n)
	}
	good := r.peer((*peerConn).serveWhole)
	for range 5 {
		tr := r.pool(pool.Config{Base: dialScript(func(n int) error {
			if n == 0 {
				return syscall.ECONNREFUSED
			}
			return nil
		})})
		c, rep := reported(newPatient(t, http.MethodPost, good.url, replayable))
		doer((&retry.Transport{Base: tr, Policy: quick(retry.Default()), Budget: budget}).RoundTrip).must(t, c)
		if rep.Retries != 1 {
			t.Errorf("%d retries", rep.Retries)
		}
	}
}
