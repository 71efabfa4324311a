package scenario

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
	"example.com/connwise/pool"
	"example.com/connwise/retry"

	"golang.org/x/net/http2"
)

// A shedding refuses its first n streams, all of them if n is negative, and notes when
// they came.
type shedding struct {
	n int

	mu    sync.Mutex
	times []time.Time
}

func (s *shedding) serve(c *peer.H2Conn) {
	_ = c.Settings()
	for {
		f, err := c.Read()
		if err != nil || c.Respond(f) != nil {
			return
		}
		switch {
		case f.Type == http2.FrameHeaders && s.refuses():
			_ = c.Reset(f.StreamID, http2.ErrCodeRefusedStream)
		case f.Request != nil:
			_ = c.Answer(f.Request)
		}
	}
}

func (s *shedding) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
	return s.n < 0 || len(s.times) <= s.n
}

// gaps are the times between the sends.
func (s *shedding) gaps() (gaps []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < len(s.times); i++ {
		gaps = append(gaps, s.times[i].Sub(s.times[i-1]))
	}
	return gaps
}

// wantGrowing checks that the gaps between sends grow, as far as a busy machine lets them.
func wantGrowing(t *testing.T, what string, gaps []time.Duration) {
	t.Helper()
	const noise = 20 * time.Millisecond
	for i := 1; i < len(gaps); i++ {
		if gaps[i]+noise < gaps[i-1] || i > 1 && gaps[i] < gaps[0] {
			t.Errorf("%s: the gaps between sends are %v, and don't grow", what, gaps)
			return
		}
	}
}

// A server sheds load and recovers: the caller sees nothing of it but the time.
func TestRefusedStreamsAreSentAgain(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for _, f := range []front{bare, retrying} {
			for n := 1; n <= 3; n++ {
				s := &shedding{n: n}
				p := r.h2peer(peer.H2Options{Handler: s.serve})
				c := newPatient(t, http.MethodPost, p.url, replayable)
				name := label(f.name, n, "refusals")
				if err := f.over(r.h2pool(pool.Config{})).send(c); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if p.count(c.id) != 1 || p.sum().Streams != n+1 {
					t.Errorf("%s: executed %d times in %d sends", name, p.count(c.id), p.sum().Streams)
				}
				gaps := s.gaps()
				wantGrowing(t, name, gaps)
				if n > 1 && gaps[len(gaps)-1] < time.Millisecond {
					t.Errorf("%s: sent again without a pause: %v", name, gaps)
				}
			}
		}
	})
}

// A one-shot body that wasn't read from when the refusal came can be sent, and one that
// was can't.
func TestARefusedOneShotBodyIsSentIfItWasntRead(t *testing.T) {
	for _, expect := range []bool{true, false} {
		name := "read"
		if expect {
			name = "not read"
		}
		t.Run(name, func(t *testing.T) {
			eachH2(t, func(t *testing.T, r *rig) {
				// The peer refuses before the body when it may wait for a 100, else behind it.
				p := r.h2peer(peer.H2Options{Handler: func(c *peer.H2Conn) {
					_ = c.Settings()
					for refused := false; ; {
						f, err := c.Read()
						if err != nil {
							return
						}
						if first := !refused && c.Num == 0; first && (expect && f.Type == http2.FrameHeaders || f.Request != nil) {
							refused = true
							_ = c.Reset(f.StreamID, http2.ErrCodeRefusedStream)
							continue
						}
						if c.Respond(f) != nil {
							return
						}
						if f.Request != nil {
							_ = c.Answer(f.Request)
						}
					}
				}})
				c := newPatient(t, http.MethodPost, p.url, oneShot)
				if expect {
					c.Header.Set("Expect", "100-continue")
				}
				tr := r.h2pool(pool.Config{Base: &http.Transport{ExpectContinueTimeout: patience}})
				err := doer(tr.RoundTrip).send(c)
				if expect && err != nil {
					t.Error(err)
				}
				if !expect {
					if e := wantPhase(t, name, err, pool.PhaseRefused); !e.BodyTouched {
						t.Error("the body is said to be untouched")
					}
				}
				if want := map[bool]int{true: 1, false: 0}[expect]; p.count(c.id) != want {
					t.Errorf("executed %d times, want %d", p.count(c.id), want)
				}
			})
		})
	}
}

// A server that always refuses gets few sends, further and further apart, and the caller
// a proof that nothing has run.
func TestAPeerThatAlwaysRefusesIsLeftAlone(t *testing.T) {
	const sends = 4
	eachH2(t, func(t *testing.T, r *rig) {
		for name, over := range map[string]func(*pool.Transport) doer{
			"pool":  func(tr *pool.Transport) doer { return tr.RoundTrip },
			"retry": func(tr *pool.Transport) doer { return over(tr, retry.Policy{MaxRetries: sends - 1}) },
		} {
			s := &shedding{n: -1}
			p := r.h2peer(peer.H2Options{Handler: s.serve})
			start := time.Now()
			err := over(r.h2pool(pool.Config{})).send(newPatient(t, http.MethodPost, p.url, replayable))
			wantPhase(t, name, err, pool.PhaseRefused)
			if took := time.Since(start); took > patience/2 {
				t.Errorf("%s: it took %v", name, took)
			}
			gaps := s.gaps()
			if n := len(gaps) + 1; n > sends || name == "retry" && n != sends {
				t.Errorf("%s: %d sends, want %d", name, n, sends)
			}
			wantGrowing(t, name, gaps)
			if p.Report().Requests != 0 || p.conns() != 1 {
				t.Errorf("%s: %d executed, %d connections", name, p.Report().Requests, p.conns())
			}
		}
	})
}

// A proxy whose backend went away says so in HTTP/2, and can only close in HTTP/1.1. The
// first proves that a POST may be sent again.
func TestOnlyARefusalSaysThatABackendsEndCostNothing(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		s := &shedding{n: 1}
		p := r.h2peer(peer.H2Options{Handler: s.serve})
		tr := r.h2pool(pool.Config{})
		c := newPatient(t, http.MethodPost, p.url, replayable)
		retrying.over(tr).must(t, c)
		if p.count(c.id) != 1 {
			t.Errorf("over HTTP/2: executed %d times", p.count(c.id))
		}
		if n := tr.Stats().Total.ClosedBy[pool.ReasonPeerAborted]; n != 0 || p.conns() != 1 {
			t.Errorf("over HTTP/2: %d connections, closed: %v", p.conns(), tr.Stats().Total.ClosedBy)
		}

		old := r.peer(func(c *peerConn) { c.request() })
		tr = r.pool(pool.Config{})
		err := retrying.over(tr).send(newPatient(t, http.MethodPost, old.url, replayable))
		if e := poolError(t, err); e.Phase != pool.PhaseSent || old.received() != 1 {
			t.Errorf("over HTTP/1.1: sent %d times: %v", old.received(), err)
		}
		if n := tr.Stats().Total.ClosedBy[pool.ReasonPeerAborted]; n != 1 {
			t.Errorf("over HTTP/1.1: closed: %v", tr.Stats().Total.ClosedBy)
		}
	})
}

// No other code is a proof, whatever servers mean by it.
func TestOtherResetsProveNothing(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		for code := http2.ErrCodeNo; code <= http2.ErrCodeHTTP11Required; code++ {
			if code == http2.ErrCodeRefusedStream {
				continue
			}
			p, asks := r.h2driven()
			done := retrying.over(r.h2pool(pool.Config{})).start(newPatient(t, http.MethodPost, p.url, replayable))
			a := asks.next(t)
			a.Execute(a.q)
			_ = a.Reset(a.q.Stream, code)
			wantPhase(t, code.String(), asks.endOf(t, code.String(), done), pool.PhaseSent)
		}
	})
}

// An upload that is refused half-way stops at once, and its body is closed.
func TestARefusalEndsAnUpload(t *testing.T) {
	eachH2(t, func(t *testing.T, r *rig) {
		s := &shedding{n: -1}
		p := r.h2peer(peer.H2Options{Handler: s.serve})
		content, w := io.Pipe()
		body := &onceBody{r: content}
		c := newPatient(t, http.MethodPost, p.url, noBody)
		c.Body, c.ContentLength, c.body = body, -1, body
		go func() { // more than every window, if it is read
			_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", 64<<20)))
			w.Close()
		}()
		err := doer(r.h2pool(pool.Config{}).RoundTrip).send(c)
		content.CloseWithError(io.ErrClosedPipe) // ends the copying
		wantPhase(t, "upload", err, pool.PhaseRefused)
		if err := body.misuse(); err != nil {
			t.Error(err)
		}
	})
}
