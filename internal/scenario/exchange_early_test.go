package scenario

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A peer may answer before it has the whole request. The answer counts; the connection is
// in the middle of a body, and no other request may go there.

// A valve is a body that gives a half, and the rest when it's opened.
type valve struct {
	half, rest io.Reader
	open       chan struct{}
	closed     chan struct{}
}

func newValve(content string) *valve {
	n := len(content) / 2
	return &valve{strings.NewReader(content[:n]), strings.NewReader(content[n:]), make(chan struct{}), make(chan struct{})}
}

func (v *valve) Read(p []byte) (int, error) {
	if n, _ := v.half.Read(p); n > 0 {
		return n, nil
	}
	select {
	case <-v.open:
		return v.rest.Read(p)
	case <-v.closed:
		return 0, io.ErrClosedPipe
	}
}

func (v *valve) Close() error { close(v.closed); return nil }

// early answers a POST as soon as its head is there, and then reads on, strictly.
func early(answer string) script {
	return func(c *peerConn) {
		for {
			req, err := http.ReadRequest(c.br)
			if err != nil {
				return
			}
			if req.Method == http.MethodPost {
				c.say("%s", answer)
			}
			q, err := c.rest(req)
			if err != nil {
				return
			}
			if req.Method != http.MethodPost && c.answer(q) != nil {
				return
			}
		}
	}
}

const earlyOK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// stalled makes a POST whose body stands still at its half.
func stalled(t *testing.T, url string, length int64) (*call, *valve) {
	v := newValve(mibBody)
	c := newCall(t.Context(), http.MethodPost, url, noBody)
	c.Body, c.ContentLength = v, length
	return c, v
}

func TestAnEarlyAnswerThatIsClosedEndsItsUploadAndItsConnection(t *testing.T) {
	eachFront(t, func(t *testing.T, r *rig, f front) {
		for _, length := range []int64{mib, -1} {
			for _, limit := range []int{0, 1} {
				for _, read := range []bool{true, false} {
					name := fmt.Sprintf("length %d, limit %d, read %v", length, limit, read)
					p := r.peer(early(earlyOK))
					tr := r.pool(pool.Config{MaxConnsPerHost: limit})
					do := f.over(tr)
					c, v := stalled(t, p.url, length)
					resp, err := do(c.Request)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if read {
						if b, err := io.ReadAll(resp.Body); string(b) != "ok" || err != nil {
							t.Errorf("%s: read %q, %v", name, b, err)
						}
					}
					resp.Body.Close()
					select {
					case <-v.closed:
					case <-time.After(patience):
						t.Fatalf("%s: the body of the upload was not closed", name)
					}
					start := time.Now()
					do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
					if d := time.Since(start); d > patience/2 {
						t.Errorf("%s: the next request took %v", name, d)
					}
					if p.count(c.id) != 0 || p.conns() != 2 {
						t.Errorf("%s: executed %d times, %d connections; want 0 and 2", name, p.count(c.id), p.conns())
					}
				}
			}
		}
	})
}

// Who reads the answer and doesn't close it lets the upload go on; when it's through, the
// connection is as good as any.
func TestAnUploadThatGoesOnBehindItsAnswerKeepsItsConnection(t *testing.T) {
	eachMode(t, func(t *testing.T, r *rig) {
		for _, length := range []int64{mib, -1} {
			p := r.peer(early(earlyOK))
			tr := r.pool(pool.Config{MaxConnsPerHost: 1})
			do := doer(tr.RoundTrip)
			c, v := stalled(t, p.url, length)
			resp, err := do(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); string(b) != "ok" || err != nil {
				t.Errorf("read %q, %v", b, err)
			}
			if g := gauges(tr); g.InUse != 1 {
				t.Errorf("in the middle of the upload the gauges are %+v", g)
			}
			close(v.open)
			do.must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
			if p.count(c.id) != 1 || p.conns() != 1 {
				t.Errorf("executed %d times, %d connections; want 1 and 1", p.count(c.id), p.conns())
			}
			resp.Body.Close()
		}
	})
}

// A peer that reads nothing blocks the upload in the kernel's buffers.
func TestAnEarlyAnswerIsSeenWhileTheUploadIsStuck(t *testing.T) {
	huge := strings.Repeat(mibBody, 24) // more than the kernel takes
	eachMode(t, func(t *testing.T, r *rig) {
		for _, status := range []string{"200 OK", "413 Too Large"} {
			for _, k := range []cargo{cargoBytes, cargoSized, cargoOnce} {
				p := r.peer(func(c *peerConn) {
					req, err := http.ReadRequest(c.br)
					if err != nil {
						return
					}
					if req.Method == http.MethodPost {
						c.say("HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\nno", status)
						<-c.peer.gate
						return
					}
					if q, err := c.rest(req); err == nil {
						c.answer(q)
						c.drain()
					}
				})
				tr := r.pool(pool.Config{})
				c := newUpload(t, t.Context(), http.MethodPost, p.url, k, huge)
				resp, err := over(tr, retry.Off())(c.Request)
				if err != nil {
					t.Fatalf("%s: %v", k.name, err)
				}
				b, err := io.ReadAll(resp.Body)
				if !strings.HasPrefix(status, fmt.Sprint(resp.StatusCode)) || string(b) != "no" || err != nil {
					t.Errorf("%s: got %d, %q, %v", k.name, resp.StatusCode, b, err)
				}
				resp.Body.Close()
				doer(tr.RoundTrip).must(t, newCall(t.Context(), http.MethodGet, p.url, noBody))
				if p.count(c.id) != 0 || p.conns() != 2 {
					t.Errorf("%s: executed %d times, %d connections", k.name, p.count(c.id), p.conns())
				}
				close(p.gate)
			}
		}
	})
}

// A peer that refuses a large body answers and closes, and the reset that its unread bytes
// cause may come before the client has read the answer.
func TestAnAnswerThatIsFollowedByAResetIsNotLost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other kernels may throw away what they had received before a reset")
	}
	eachFront(t, func(t *testing.T, r *rig, f front) {
		for range 5 {
			for _, k := range cargoes {
				p := r.peer(func(c *peerConn) {
					if _, err := http.ReadRequest(c.br); err == nil {
						c.say("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
					} // its close, with much unread, is a reset
				})
				c := newUpload(t, t.Context(), http.MethodPost, p.url, k, mibBody)
				resp, err := f.over(r.pool(pool.Config{}))(c.Request)
				if err != nil {
					t.Errorf("%s: the answer was lost: %v", k.name, err)
					continue
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 413 || string(b) != "no" || err != nil {
					t.Errorf("%s: got %d, %q, %v", k.name, resp.StatusCode, b, err)
				}
				if p.conns() != 1 {
					t.Errorf("%s: %d connections", k.name, p.conns())
				}
			}
		}
	})
}
