package scenario

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A second attempt has the first one's body, to the byte, or isn't made. One that can't be
// rewound goes with it if nobody has read from it.

// records is a peer's script around another: it keeps what its application receives.
func (in *inbox) records(c *peerConn) {
	for q, err := c.whole(); err == nil; q, err = c.whole() {
		in.put(q)
		if c.answer(q) != nil {
			return
		}
	}
}

// wantOne checks that the request arrived once, with this body, in the framing that the
// caller had asked for.
func (in *inbox) wantOne(t *testing.T, name string, c *call, body string, length int64) {
	t.Helper()
	var got []received
	for _, q := range in.all() {
		if q.id == c.id {
			got = append(got, q)
		}
	}
	if len(got) != 1 {
		t.Errorf("%s: arrived %d times, want once", name, len(got))
		return
	}
	if q := got[0]; q.body != body || q.ContentLength != length {
		t.Errorf("%s: %d bytes arrived with length %d, want %d and %d", name, len(q.body), q.ContentLength, len(body), length)
	}
}

var contents = []struct{ name, text string }{{"a small body", `{"amount":10}`}, {"a large body", mibBody}}

func TestASecondAttemptByOptInHasTheSameBody(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, k := range cargoes {
			for _, content := range contents {
				for _, onTop := range []bool{false, true} {
					var in inbox
					p := r.peer(func(c *peerConn) {
						if c.num > 0 {
							in.records(c)
						} else if q, err := c.whole(); err == nil && c.answer(q) == nil && c.arrives() {
							l.by(c)
						}
					})
					rt := &retry.Transport{Base: r.pool(pool.Config{}), Policy: quick(retry.Default())}
					do := doer(rt.RoundTrip)
					if onTop {
						do = (&http.Client{Transport: rt}).Do
					}
					warm(t, do, p.url, true)
					c := newUpload(t, t.Context(), http.MethodPost, p.url, k, content.text)
					c.Header.Set("Idempotency-Key", c.id)
					length := c.ContentLength
					err := do.send(c)
					name := k.name + ", " + content.name
					if k.replayable {
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						in.wantOne(t, name, c, content.text, length)
						continue
					}
					if err == nil { // the connection ended between the head and the first Read
						in.wantOne(t, name, c, content.text, length)
						continue
					}
					wantAmbiguous(t, err, true)
					if len(in.all()) != 0 || p.conns() != 1 {
						t.Errorf("%s: a body that can't be had again was sent again: %d requests, %d connections", name, len(in.all()), p.conns())
					}
				}
			}
		}
	})
}

func TestASecondAttemptAfterAProofHasTheSameBody(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range cargoes {
			for _, content := range contents {
				for _, nth := range []int64{1, 2} { // a fresh connection, a reused one
					var in inbox
					w := cable{later: in.records}
					p := w.resetBefore(r, nth)
					do := over(w.Transport, quick(retry.Default()))
					warm(t, do, p.url, nth == 2)
					c, rep := reported(newUpload(t, t.Context(), http.MethodPost, p.url, k, content.text))
					length := c.ContentLength
					err := do.send(c)
					name := k.name + ", " + content.name
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					in.wantOne(t, name, c, content.text, length)
					if want := int(2 - nth); rep.Retries != want { // on a reused connection the pool replaces it
						t.Errorf("%s: %d retries, want %d", name, rep.Retries, want)
					}
					if err := c.body.misuse(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
	})
}

func TestAGetBodyThatFailsEndsTheCallWithItsError(t *testing.T) {
	errRewind := errors.New("the upload is gone")
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		p := r.peer(crosses(l))
		do := over(r.pool(pool.Config{}), quick(retry.Default()))
		warm(t, do, p.url, true)
		c := newUpload(t, t.Context(), http.MethodPost, p.url, cargoBytes, "charge 10")
		c.Header.Set("Idempotency-Key", c.id)
		c.GetBody = func() (io.ReadCloser, error) { return nil, errRewind }
		err := do.send(c)
		if !errors.Is(err, errRewind) {
			t.Errorf("GetBody's error isn't in the chain: %v", err)
		}
		if ce, ok := errors.AsType[*pool.CallerError](err); !ok || ce.Source != pool.CallerBody {
			t.Errorf("it doesn't count as the caller's: %v", err)
		}
		stopped, ok := errors.AsType[*retry.StoppedError](err)
		if !ok {
			t.Fatalf("no *retry.StoppedError in %v", err)
		}
		wantAmbiguous(t, stopped.Last, true)
		if p.count(c.id) != 0 || p.conns() != 1 {
			t.Errorf("executed %d times, %d connections", p.count(c.id), p.conns())
		}
	})
}

func TestTheCallersRequestIsNeverChanged(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, k := range cargoes {
			p := r.peer(crosses(leaveFIN))
			tr := r.pool(pool.Config{})
			rt := &retry.Transport{Base: tr, Policy: quick(retry.Default())}
			warm(t, rt.RoundTrip, p.url, true)
			c := newUpload(t, t.Context(), http.MethodPut, p.url, k, "the new state")
			c.Header.Set("Idempotency-Key", c.id)
			c.Header["x-lower"] = []string{"as is", "twice"}
			c.Request.Header.Set("Accept-Encoding", "br")
			before, header, body, hasGet := *c.Request, c.Header.Clone(), c.Body, c.GetBody != nil
			_ = doer(rt.RoundTrip).send(c) // it fails for one-shot bodies; that isn't the matter here
			after := c.Request
			if after.Body != body || (after.GetBody != nil) != hasGet || after.ContentLength != before.ContentLength ||
				after.URL != before.URL || after.Host != before.Host || after.Method != before.Method || after.Context() != before.Context() ||
				len(after.TransferEncoding) != 0 || after.Close != before.Close {
				t.Errorf("%s: the request was changed: %+v, was %+v", k.name, after, before)
			}
			if !maps.EqualFunc(after.Header, header, slices.Equal[[]string]) {
				t.Errorf("%s: the header was changed to %v, was %v", k.name, after.Header, header)
			}
		}
	})
}
