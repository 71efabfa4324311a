package scenario

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"example.com/connwise/pool"
)

// silence is how long the one that finds out waits for an answer.
const silence = 200 * time.Millisecond

// Something on the way has forgotten the connections and tells nobody. One request finds
// out, by a timeout. Those that were idle for as long as the one it was on aren't trusted
// any more: whoever comes next doesn't wait.
func TestOneTimeoutIsEnoughForConnectionsThatWereForgotten(t *testing.T) {
	for _, sp := range speeches {
		for _, byHeader := range []bool{true, false} { // else by the request's deadline
			if sp.h2 && byHeader {
				continue // it would end those that wait for each other, below
			}
			t.Run(label(sp.name, byHeader), func(t *testing.T) {
				judged(t, silence/4, func(j *judge) { forgottenOnce(j, sp, byHeader) })
			})
		}
	}
}

func forgottenOnce(j *judge, sp speech, byHeader bool) {
	const n = 5
	t := j.T
	r := newRig(t, sp.mode)
	crowd := 0
	if sp.h2 {
		crowd = n
	}
	s := r.site(sp, manners{crowd: crowd})
	way := r.relay(s.addr)
	base := &http.Transport{DialContext: hookTo(way.addr)}
	if byHeader {
		base.ResponseHeaderTimeout = silence
	}
	tr := r.client(sp, pool.Config{Base: base})
	if sp.h2 {
		crowded(t, tr, s, s.url, n)
	} else {
		spread(j, tr, s.url, n)
	}
	pause(150 * time.Millisecond) // a timeout on a connection that was busy says nothing of others
	if got := way.forget(); got < n {
		j.Errorf("%d flows, want %d", got, n)
	}
	do := doer(tr.RoundTrip)
	ctx, cancel := context.WithTimeout(t.Context(), silence)
	defer cancel()
	if byHeader {
		ctx = t.Context()
	}
	c := newCall(ctx, http.MethodPost, s.url, oneShot)
	start := time.Now()
	pe := poolError(t, do.send(c))
	if pe.Phase != pool.PhaseSent || !pe.Timeout() || !pe.Reused || s.count(c.id) != 0 {
		j.Errorf("the first: %#v", pe)
	}
	if took := time.Since(start); took < silence*9/10 || took > silence+time.Second {
		j.Errorf("the first took %v, with a limit of %v", took, silence)
	}
	for i := range n - 1 {
		if err := do.send(newPatient(t, http.MethodPost, s.url, bodyKinds[i%len(bodyKinds)])); err != nil {
			j.Errorf("request %d behind it: %v", i, err)
		}
	}
	s.once(j, 2*n-1)
}

// spread leaves tr with n idle connections: no answer is read to its end before all have
// come, so that each has a connection of its own.
func spread(t tester, tr *pool.Transport, url string, n int) {
	var answers []*http.Response
	for range n {
		resp, err := tr.RoundTrip(newCall(t.Context(), http.MethodGet, url, noBody).Request)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		answers = append(answers, resp)
	}
	for _, resp := range answers {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
