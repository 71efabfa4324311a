package scenario

import (
	"net/http"
	"sync/atomic"
	"testing"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// An h2Refusal turns a stream away, before its body was asked for or when it is there.
type h2Refusal struct {
	name string
	by   func(c *peer.H2Conn, stream uint32) error
}

var h2Refusals = []h2Refusal{
	{"REFUSED_STREAM", func(c *peer.H2Conn, stream uint32) error { return c.Reset(stream, http2.ErrCodeRefusedStream) }},
	{"GOAWAY", func(c *peer.H2Conn, stream uint32) error { return c.GoAway(stream-2, http2.ErrCodeNo) }},
	{"GOAWAY with an error", func(c *peer.H2Conn, stream uint32) error {
		return c.GoAway(stream-2, http2.ErrCodeEnhanceYourCalm)
	}},
}

// refuses serves streams, but for the first one behind the connection's first answer: that is
// turned away with its head, or when it has come whole.
func (h h2Refusal) refuses(early bool, n *atomic.Int64) func(*peer.H2Conn) {
	return func(c *peer.H2Conn) {
		_ = c.Settings()
		for {
			f, err := c.Read()
			if err != nil {
				return
			}
			head := f.Type == http2.FrameHeaders && f.StreamID > 1
			if c.Num == 0 && n.Load() == 0 && f.StreamID > 1 && (early && head || f.Request != nil) {
				n.Add(1)
				_ = h.by(c, f.StreamID)
				continue
			}
			if c.Respond(f) != nil || f.Request != nil && c.Answer(f.Request) != nil {
				return
			}
		}
	}
}

// Over HTTP/2 a refusal is a proof whenever it comes; what decides is whether the body was
// read from before it came.
func TestARefusedStreamsBodyGoesAgainUnlessItWasRead(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, h := range h2Refusals {
			for _, early := range []bool{true, false} {
				for _, method := range []string{http.MethodPost, http.MethodPatch} {
					for name, top := range tops {
						refusedOnce(t, r, h, early, method, label(h.name, "early:", early, method, name), top)
					}
				}
			}
		}
	})
}

func refusedOnce(t *testing.T, r *rig, h h2Refusal, early bool, method, name string, top func(http.RoundTripper) doer) {
	t.Helper()
	var refused atomic.Int64
	p := r.h2peer(peer.H2Options{Handler: h.refuses(early, &refused)})
	tr := r.h2pool(consenting(patience, 0))
	do := top(&retry.Transport{Base: tr, Policy: quick(retry.Default())})
	do.must(t, newPatient(t, http.MethodGet, p.url, noBody))
	c := newPatient(t, method, p.url, oneShot)
	if early {
		c.Header.Set("Expect", "100-continue")
	}
	c, rep := reported(c)
	err := do.send(c)
	if refused.Load() != 1 {
		t.Errorf("%s: %d refusals", name, refused.Load())
	}
	if early {
		again := rep.Retries + int(tr.Stats().Total.Replaced) // the pool takes another connection for what one that was reused disowns
		if err != nil || p.count(c.id) != 1 || again != 1 || rep.Retries > 0 && !rep.Attempts[0].Evidence.Unprocessed() {
			t.Errorf("%s: executed %d times, sent %d times more, %+v: %v", name, p.count(c.id), again, rep, err)
		}
	} else {
		e := wantPhase(t, name, err, pool.PhaseRefused)
		if !e.BodyTouched || !e.Unprocessed() || p.count(c.id) != 0 || rep.Retries != 0 {
			t.Errorf("%s: executed %d times, %d retries: %+v", name, p.count(c.id), rep.Retries, e)
		}
	}
	if err := c.body.misuse(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// A stream that is lost with its connection while its body waits for consent is a head alone,
// over HTTP/2 too.
func TestAnH2BodyThatAwaitsConsentGoesWithTheNextAttempt(t *testing.T) {
	policy := quick(retry.Default())
	for _, allowed := range []bool{false, true} {
		policy.ResendHeadOnly = allowed
		eachH2(t, func(t *testing.T, r *rig) {
			for _, style := range []peer.Style{peer.FIN, peer.BareFIN, peer.RST} {
				p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
					_ = c.Settings()
					if c.Num > 0 {
						serveH2(c)
						return
					}
					for f, err := c.Read(); err == nil && f.Type != http2.FrameHeaders; f, err = c.Read() {
						_ = c.Respond(f)
					}
					c.Close(style)
				}})
				c := newPatient(t, http.MethodPost, p.url, oneShot)
				c.Header.Set("Expect", "100-continue")
				body := c.body
				err := over(r.h2pool(consenting(patience, 0)), policy).send(c)
				if allowed {
					if err != nil || p.count(c.id) != 1 || p.conns() != 2 {
						t.Errorf("%s: executed %d times on %d connections: %v", style, p.count(c.id), p.conns(), err)
					}
				} else if e := wantPhase(t, string(style), err, pool.PhaseSending); !e.HeadOnly || e.BodyTouched || body.reads.Load() != 0 || p.conns() != 1 {
					t.Errorf("%s: %+v, %d connections", style, e, p.conns())
				}
				if err := body.misuse(); err != nil {
					t.Errorf("%s: %v", style, err)
				}
			}
		})
	}
}
