package scenario

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/h2"
	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// A peer that closes in the moment in which a request comes may have it or not. With
// ConfirmAfter nothing is at stake then: the body waits for a sign of life.

// confirming is a Config under which every connection that was idle is asked.
func confirming() pool.Config { return pool.Config{ConfirmAfter: time.Millisecond} }

// idles lets connections be idle for longer than d.
func idles(d time.Duration) { <-time.After(d + d/2 + 2*time.Millisecond) }

// A lastMoment is a peer that closes a connection which was idle when the head of the next
// request has come.
type lastMoment struct {
	*rawPeer
	heads atomic.Int64 // that have come behind the first request
	plain atomic.Int64 // of those on the first connection, without Expect
}

func (r *rig) lastMoment(end ending) *lastMoment {
	p := &lastMoment{}
	p.rawPeer = r.peer(func(c *peerConn) {
		if c.num > 0 {
			c.serveConsenting(&p.heads)
			return
		}
		q, err := c.request()
		if err != nil || c.answer(q) != nil {
			return
		}
		req, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		p.heads.Add(1)
		if req.Header.Get("Expect") == "" {
			p.plain.Add(1)
		}
		end.close(c)
	})
	return p
}

// serveConsenting answers requests, and asks for the bodies that wait for it.
func (c *peerConn) serveConsenting(heads *atomic.Int64) {
	for {
		req, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		heads.Add(1)
		if req.Header.Get("Expect") != "" {
			c.say("HTTP/1.1 100 Continue\r\n\r\n")
		}
		q, err := c.rest(req)
		if err != nil || c.answer(q) != nil {
			return
		}
	}
}

var bodies = []bodyKind{replayable, inMemory, oneShot}

func TestACloseInTheLastMomentCostsNoBody(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		for _, kind := range bodies {
			p := r.lastMoment(end)
			tr := r.pool(confirming())
			do := over(tr, quick(retry.Default()))
			do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			idles(time.Millisecond)
			c := newCall(t.Context(), http.MethodPost, p.url, kind)
			e := wantAmbiguous(t, do.send(c), true)
			if !e.HeadOnly || e.Phase != pool.PhaseSending || e.BodyTouched {
				t.Errorf("%s: head only %v, phase %v, touched %v: %v", kind, e.HeadOnly, e.Phase, e.BodyTouched, e)
			}
			if c.body != nil && (c.body.reads.Load() != 0 || c.body.misuse() != nil) {
				t.Errorf("%s: read %d times, %v", kind, c.body.reads.Load(), c.body.misuse())
			}
			if p.received() != 1 || p.heads.Load() != 1 || p.plain.Load() != 0 {
				t.Errorf("%s: %d requests executed, %d heads came, %d without Expect", kind, p.received(), p.heads.Load(), p.plain.Load())
			}
			if st := tr.Stats().Total; st.Confirmed != 1 || st.ConfirmFailed != 1 {
				t.Errorf("%s: stats %+v", kind, st)
			}
			tr.Close()
		}
	})
}

// With the opt-in it costs no error either: the head comes twice, the body once.
func TestWhatWasOnlyAHeadIsSentAgainOnOptIn(t *testing.T) {
	eachEnding(t, func(t *testing.T, r *rig, end ending) {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			p := r.lastMoment(end)
			tr := r.pool(confirming())
			policy := quick(retry.NeverTimeouts())
			policy.ResendHeadOnly = true
			do := over(tr, policy)
			do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			idles(time.Millisecond)
			c, rep := reported(newCall(t.Context(), method, p.url, replayable))
			if err := do.send(c); err != nil {
				t.Errorf("%s: %v", method, err)
			}
			if p.count(c.id) != 1 || p.heads.Load() != 2 || p.conns() != 2 || rep.Retries != 1 {
				t.Errorf("%s: executed %d times, %d heads came, %d connections, %d retries", method, p.count(c.id), p.heads.Load(), p.conns(), rep.Retries)
			}
			tr.Close()
		}
	})
}

// Who is alive says so, and the connection goes on.
func TestALivingPeerConfirms(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		var heads atomic.Int64
		p := r.peer(func(c *peerConn) { c.serveConsenting(&heads) })
		tr := r.pool(confirming())
		do := doer(tr.RoundTrip)
		const rounds = 12
		for i := range rounds {
			do.must(t, newCall(t.Context(), http.MethodPost, p.url, bodies[i%len(bodies)]))
			idles(time.Millisecond)
		}
		if p.conns() != 1 || len(p.twice()) > 0 || heads.Load() != rounds {
			t.Errorf("%d connections, %d heads, twice: %v", p.conns(), heads.Load(), p.twice())
		}
		// The first one asks too where a busy machine lets its new connection wait for so long.
		if st := tr.Stats().Total; st.Confirmed < rounds-1 || st.Confirmed > rounds || st.ConfirmFailed != 0 {
			t.Errorf("%d asked, %d in vain", st.Confirmed, st.ConfirmFailed)
		}
	})
}

// A request without a body can't ask, and doesn't use what was idle for too long.
func TestWithoutABodyTheConnectionIsANewOne(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, limit := range []int{0, 1} {
			p := r.lastMoment(endings[0])
			cfg := confirming()
			cfg.MaxConnsPerHost = limit
			tr := r.pool(cfg)
			do := doer(tr.RoundTrip)
			do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			idles(time.Millisecond)
			c := newCall(t.Context(), http.MethodDelete, p.url, noBody)
			do.must(t, c)
			st := tr.Stats().Total
			if p.conns() != 2 || p.count(c.id) != 1 || st.ClosedBy[pool.ReasonUnconfirmed] != 1 {
				t.Errorf("%d connections, executed %d times, closed by %v", p.conns(), p.count(c.id), st.ClosedBy)
			}
			tr.Close()
		}
	})
}

// Over HTTP/2 the peer is asked before anything of the request is sent. So a close in the last
// moment is nobody's trouble, whatever the body.
func TestAnH2CloseInTheLastMomentIsNobodysTrouble(t *testing.T) {
	long(t)
	eachH2(t, func(t *testing.T, r *rig) {
		for _, style := range []peer.Style{peer.FIN, peer.BareFIN, peer.RST, "silence"} {
			for _, kind := range bodyKinds {
				p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) { serveUntilPing(c, style) }})
				tr := r.h2pool(confirming())
				do := doer(tr.RoundTrip)
				do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
				idles(h2.PingGap)
				do.must(t, newPatient(t, http.MethodPost, p.url, kind))
				rep := p.Report()
				if rep.Requests != 2 || rep.Accepted != 2 {
					t.Errorf("%s, %s: %d requests executed, %d connections", style, kind, rep.Requests, rep.Accepted)
				}
				if st := tr.Stats().Total; st.Confirmed != 1 || st.ConfirmFailed != 1 || st.Failed != 0 {
					t.Errorf("%s, %s: stats %+v", style, kind, st)
				}
				tr.Close()
			}
		}
	})
}

// serveUntilPing answers requests. A PING on the first connection ends it in that way.
func serveUntilPing(c *peer.H2Conn, style peer.Style) {
	if c.Settings() != nil {
		return
	}
	for {
		f, err := c.Read()
		if err != nil {
			return
		}
		if c.Num == 0 && f.Type == http2.FramePing {
			if style == "silence" {
				continue
			}
			c.Close(style)
			return
		}
		if c.Respond(f) != nil || f.Request != nil && c.Answer(f.Request) != nil {
			return
		}
	}
}
