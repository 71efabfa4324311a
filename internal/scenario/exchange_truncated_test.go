package scenario

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// An answer that was cut is a failure of the answer, never a success, never a reason to
// send the request again, and its connection is gone.

const (
	chunkA = "5\r\nfirst\r\n"
	chunkB = "6\r\nsecond\r\n"
	okHead = "HTTP/1.1 200 OK\r\n"
	inBits = okHead + "Transfer-Encoding: chunked\r\n\r\n"
)

var cutAnswers = []struct {
	name, wire, got string
}{
	{"after 2 of 3 chunks", inBits + chunkA + chunkB, "firstsecond"},
	{"within a chunk", inBits + chunkA + "6\r\nsec", "firstsec"},
	{"behind a chunk's data", inBits + chunkA + "6\r\nsecond", "firstsecond"},
	{"within a chunk's size", inBits + chunkA + "6", "first"},
	{"before the first chunk", inBits, ""},
	{"before the final empty line", inBits + chunkA + "0\r\n", "first"},
	{"within the final empty line", inBits + chunkA + "0\r\n\r", "first"},
	{"within the trailer", inBits + chunkA + "0\r\nX-Sum: 1\r\n", "first"},
	{"at 99 of 100 bytes", okHead + "Content-Length: 100\r\n\r\n" + strings.Repeat("x", 99), strings.Repeat("x", 99)},
	{"at 0 of 100 bytes", okHead + "Content-Length: 100\r\n\r\n", ""},
}

func TestACutAnswerIsAnErrorOfItsBody(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, cut := range cutAnswers {
			for _, f := range fronts {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					p := r.peer(func(c *peerConn) {
						if _, err := c.whole(); err == nil {
							c.say("%s", cut.wire)
							<-c.peer.gate
							l.by(c)
						}
					})
					tr := r.pool(pool.Config{})
					c, rep := reported(newCall(t.Context(), method, p.url, noBody))
					resp, err := f.over(tr)(c.Request)
					if err != nil {
						t.Fatalf("%s: %v", cut.name, err)
					}
					close(p.gate)
					b, err := io.ReadAll(resp.Body)
					name := cut.name + ", " + method + " by " + f.name
					wantCut(t, name, err, l)
					if string(b) != cut.got {
						t.Errorf("%s: read %q, want %q", name, b, cut.got)
					}
					if _, again := resp.Body.Read(make([]byte, 1)); again == nil || again == io.EOF {
						t.Errorf("%s: the next Read returns %v", name, again)
					}
					wantGone(t, name, tr, p, c, rep)
					resp.Body.Close()
				}
			}
		}
	})
}

// wantCut checks the error of a body that ended too soon.
func wantCut(t *testing.T, name string, err error, l leave) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: a cut answer was taken for a whole one", name)
	}
	if e := poolError(t, err); e.Phase != pool.PhaseResponse {
		t.Errorf("%s: the phase is %v", name, e.Phase)
	}
	if l.name == leaveRST.name {
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: the reset isn't in the chain: %v", name, err)
		}
	} else if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%s: no io.ErrUnexpectedEOF in %v", name, err)
	}
}

// wantGone checks that a request ran once, on a connection that is no more.
func wantGone(t *testing.T, name string, tr *pool.Transport, p *rawPeer, c *call, rep *retry.Report) {
	t.Helper()
	if g := gauges(tr); g != (counts{}) {
		t.Errorf("%s: the connection is still there: %+v", name, g)
	}
	if p.count(c.id) != 1 || p.conns() != 1 || rep.Retries != 0 {
		t.Errorf("%s: executed %d times, %d connections, %d retries; want 1, 1, 0", name, p.count(c.id), p.conns(), rep.Retries)
	}
}

func TestACutHeadIsAnErrorOfTheAnswer(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, wire := range []string{"H", "HTTP/1.1 ", "HTTP/1.1 200 OK\r\n", okHead + "X: y\r\n", okHead + "X: y\r\n\r", "HTTP/1.1 100 Continue\r\n\r\n"} {
			p := r.peer(func(c *peerConn) {
				if _, err := c.whole(); err == nil {
					c.say("%s", wire)
					<-c.peer.gate
					l.by(c)
				}
			})
			close(p.gate)
			tr := r.pool(pool.Config{})
			c, rep := reported(newCall(t.Context(), http.MethodPost, p.url, replayable))
			_, err := over(tr, retry.Default())(c.Request)
			e := poolError(t, err)
			// A reset may overtake what was said.
			if e.Phase != pool.PhaseResponse && (l.name != leaveRST.name || e.Phase != pool.PhaseSent) {
				t.Errorf("%q: the phase is %v", wire, e.Phase)
			}
			wantGone(t, fmt.Sprintf("%q", wire), tr, p, c, rep)
		}
	})
}

// Where only the connection's end delimits a body, TLS tells a close from a cut and plain
// TCP can't.
func TestABodyThatTheConnectionsEndDelimitsIsWholeOnlyWithACloseNotify(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, f := range fronts {
			for _, head := range []string{okHead + "\r\n", "HTTP/1.0 200 OK\r\n\r\n", okHead + "Connection: close\r\n\r\n"} {
				p := r.peer(func(c *peerConn) {
					if _, err := c.whole(); err == nil {
						c.say("%sall of it", head)
						<-c.peer.gate
						l.by(c)
					}
				})
				tr := r.pool(pool.Config{})
				c, rep := reported(newCall(t.Context(), http.MethodGet, p.url, noBody))
				resp, err := f.over(tr)(c.Request)
				if err != nil {
					t.Fatal(err)
				}
				close(p.gate)
				b, err := io.ReadAll(resp.Body)
				if string(b) != "all of it" {
					t.Errorf("read %q", b)
				}
				if l.name != leaveFIN.name {
					wantCut(t, f.name, err, l)
				} else if err != nil {
					t.Errorf("by %s: %v", f.name, err)
				}
				wantGone(t, f.name, tr, p, c, rep)
				resp.Body.Close()
			}
		}
	})
}

// An answer that delimits itself is whole without a close_notify, but its connection is
// of no use any more.
func TestAnAnswerThatIsWholeDoesNotNeedTheCloseNotify(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		for _, wire := range []string{
			okHead + "Content-Length: 9\r\n\r\nall of it",
			inBits + "9\r\nall of it\r\n0\r\n\r\n",
		} {
			for _, f := range fronts {
				p := r.peer(func(c *peerConn) {
					if c.num > 0 {
						c.serveWhole()
						return
					}
					if _, err := c.whole(); err == nil {
						c.say("%s", wire)
						<-c.peer.gate
						l.by(c)
					}
				})
				var w cable
				var cfg pool.Config
				w.watch(&cfg)
				tr := r.pool(cfg)
				do := f.over(tr)
				resp, err := do(newCall(t.Context(), http.MethodGet, p.url, noBody).Request)
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				close(p.gate)
				if string(b) != "all of it" || err != nil {
					t.Errorf("by %s: read %q, %v", f.name, b, err)
				}
				ended(w.number(0))
				do.must(t, newCall(t.Context(), http.MethodPost, p.url, oneShot))
				if p.conns() != 2 {
					t.Errorf("by %s: %d connections, want 2", f.name, p.conns())
				}
			}
		}
	})
}

// The same when the close comes while the body is read, at its very end.
func TestACloseRightBehindAnAnswerDoesNotHarmIt(t *testing.T) {
	eachLeave(t, func(t *testing.T, r *rig, l leave) {
		if l.name == leaveRST.name {
			t.Skip("a reset may take the answer with it")
		}
		p := r.peer(func(c *peerConn) {
			if q, err := c.whole(); err == nil && c.answer(q) == nil {
				l.by(c)
			}
		})
		do := over(r.pool(pool.Config{}), retry.Off())
		for range 20 {
			// The close may cross the next request, if that comes too early: wait for it.
			c := newCall(t.Context(), http.MethodGet, p.url, noBody)
			c.Close = true
			do.must(t, c)
		}
	})
}

func TestACutGzipStreamIsAnErrorAlthoughItsMessageIsWhole(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(strings.Repeat("what was said ", 100)))
	w.Close()
	eachMode(t, func(t *testing.T, r *rig) {
		for _, cut := range []int{1, 8, z.Len() / 2, z.Len() - 1} {
			p := r.peer(func(c *peerConn) {
				if _, err := c.whole(); err == nil {
					c.say("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", okHead, z.Len()-cut, z.Bytes()[:z.Len()-cut])
					c.drain()
				}
			})
			tr := r.pool(pool.Config{})
			resp, err := tr.RoundTrip(newCall(t.Context(), http.MethodGet, p.url, noBody).Request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("without the last %d bytes: %v", cut, err)
			}
			resp.Body.Close()
		}
	})
}
