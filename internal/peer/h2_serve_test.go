package peer

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

func TestH2ServesAndRecords(t *testing.T) {
	big := strings.Repeat("b", 3<<20) // more than every window
	runH2(t, H2Options{Faults: H2Faults{BodySize: 3 << 20}}, func(t *testing.T, r *h2Rig) {
		c := r.client()
		for _, m := range []string{"POST", "PUT", "HEAD", "GET"} {
			body := big
			if m == "HEAD" || m == "GET" {
				body = ""
			}
			resp, err := r.call(c, m, body)
			if err != nil {
				t.Fatal(m, err)
			}
			b, _ := io.ReadAll(resp.Body)
			if want := 3 << 20; m != "HEAD" && len(b) != want || resp.ContentLength != int64(want) || resp.ProtoMajor != 2 {
				t.Errorf("%s: %d bytes, Content-Length %d, %s", m, len(b), resp.ContentLength, resp.Proto)
			}
		}
		r.executedOnce(4)
		if rep := r.clean(); rep.Accepted != 1 || rep.Conns[0] != 4 || rep.PerConn[0].Streams != 4 || rep.Sum().OpenStreams != 0 {
			t.Errorf("report %+v", rep)
		}
	})
}

// crowd makes n calls at the same time, w at a time, and returns how many failed.
func crowd(t *testing.T, r *h2Rig, w, n int) (failed int) {
	c := r.client()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range w {
		wg.Go(func() {
			for range n / w {
				if _, err := r.call(c, "POST", "hello"); err != nil {
					t.Log(err)
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}

func TestH2StreamsPerConnLoseNothing(t *testing.T) {
	for _, grace := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(grace.String(), func(t *testing.T) {
			f := H2Faults{StreamsPerConn: 50, GoAway: H2GoAway{Grace: grace}}
			runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
				if failed := crowd(t, r, 8, 400); failed > 0 {
					t.Errorf("%d calls failed", failed)
				}
				r.executedOnce(400)
				rep := r.clean()
				for i, c := range rep.PerConn {
					if c.Executed > 50 {
						t.Errorf("connection %d: %+v", i, c)
					}
				}
				if rep.Accepted < 8 {
					t.Errorf("%d connections, want 8 at least", rep.Accepted)
				}
			})
		})
	}
}

func TestH2GoAwayOnCommandLosesNothing(t *testing.T) {
	runH2(t, H2Options{Faults: H2Faults{Delay: time.Millisecond}}, func(t *testing.T, r *h2Rig) {
		stop, done := make(chan struct{}), make(chan int)
		go func() {
			n := 0
			for tick := time.NewTicker(20 * time.Millisecond); ; {
				select {
				case <-tick.C:
					n += r.GoAway(H2GoAway{Grace: 5 * time.Millisecond})
				case <-stop:
					done <- n
					return
				}
			}
		}()
		// net/http's client may lose a call to a connection that is ended as it begins.
		failed := crowd(t, r, 8, 800)
		if failed > 8 {
			t.Errorf("%d calls failed", failed)
		}
		close(stop)
		n := <-done
		if failed == 0 {
			r.executedOnce(800)
		}
		for _, run := range r.Report().Executed {
			if run.Count != 1 {
				t.Errorf("executed %+v", run)
			}
		}
		if rep := r.clean(); n == 0 || rep.Accepted < n {
			t.Errorf("%d connections ended, %d accepted", n, rep.Accepted)
		}
	})
}

func TestH2LimitRefusesWhatIsBeyond(t *testing.T) {
	f := H2Faults{MaxStreams: 3, Delay: 5 * time.Millisecond}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		if failed := crowd(t, r, 12, 48); failed > 0 {
			t.Errorf("%d calls failed", failed)
		}
		r.executedOnce(48)
		// net/http's client takes a stream's place before it writes HEADERS. If the SETTINGS come
		// in between, their acknowledgement goes out first, and the stream is one too many.
		rep := r.Report()
		for _, v := range rep.Violations {
			if !strings.Contains(v, "opened while 3 are open, of 3") {
				t.Error(v)
			}
		}
		for i, c := range rep.PerConn {
			if c.Executed+c.Refused != c.Streams {
				t.Errorf("connection %d: %+v", i, c)
			}
		}
	})
}

func TestH2RefusesTheNext(t *testing.T) {
	runH2(t, H2Options{Faults: H2Faults{Refuse: 1}}, func(t *testing.T, r *h2Rig) {
		if _, err := r.call(r.client(), "POST", "hello"); err != nil {
			t.Error(err)
		}
		r.executedOnce(1)
		if sum := r.clean(); sum.Sum().Refused != 1 || sum.Sum().Received < 1 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestH2LateSettings(t *testing.T) {
	const late = 50 * time.Millisecond
	f := H2Faults{MaxStreams: 1, SettingsDelay: late, Delay: late}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		start := time.Now()
		h := r.hand()
		h.headers(1, true)
		h.headers(3, true)
		if f := h.want(http2.FrameSettings); f.Ack() {
			t.Error("an acknowledgement came before the server's SETTINGS")
		}
		if took := time.Since(start); took < late {
			t.Errorf("SETTINGS after %v, want %v", took, late)
		}
		if f := h.want(http2.FrameRSTStream); f.StreamID != 3 || f.Code != http2.ErrCodeRefusedStream {
			t.Errorf("stream %d is reset with %v", f.StreamID, f.Code)
		}
		if f := h.want(http2.FrameHeaders); f.StreamID != 1 {
			t.Errorf("stream %d is answered", f.StreamID)
		}
	})
}

func TestH2SilentConnections(t *testing.T) {
	f := H2Faults{SilentConns: 1, SilentAfter: 1}
	runH2(t, H2Options{Faults: f}, func(t *testing.T, r *h2Rig) {
		c := r.client()
		if _, err := r.call(c, "GET", ""); err != nil {
			t.Fatal(err)
		}
		c.Timeout = 50 * time.Millisecond
		if _, err := r.call(c, "GET", ""); err == nil {
			t.Error("a silent connection answers")
		}
		c = r.client()
		if _, err := r.call(c, "GET", ""); err != nil {
			t.Error("the second connection:", err)
		}
		if rep := r.Report(); rep.Conns[0] != 1 || rep.Conns[1] != 1 || rep.OpenConns() != 2 {
			t.Errorf("%+v", rep)
		}
	})
}

func TestH2AnswersHTTP1WhereALPNSaysSo(t *testing.T) {
	r := &h2Rig{t: t, authority: newAuthority(t)}
	s, err := StartH2(H2Options{TLS: r.authority.serverConfig(), Faults: H2Faults{BodySize: 9}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r.H2Server = s
	c := r.client()
	for _, m := range []string{"POST", "HEAD"} {
		resp, err := r.call(c, m, "hello")
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 1 || resp.ContentLength != 9 {
			t.Errorf("%s: %s, Content-Length %d", m, resp.Proto, resp.ContentLength)
		}
	}
	r.executedOnce(2)
	if rep := r.clean(); rep.Accepted != 1 || rep.PerConn[0].Proto != "http/1.1" || rep.Conns[0] != 2 {
		t.Errorf("%+v", rep)
	}
}

func TestH2Expect(t *testing.T) {
	runH2(t, H2Options{KeepBody: 3, Body: func(q *H2Request) []byte { return q.Body }}, func(t *testing.T, r *h2Rig) {
		h := r.hand()
		h.headers(1, false, "expect", "100-continue", "content-length", "5")
		if f := h.want(1); f.Fields[0].Value != "100" {
			t.Errorf("%v, want a 100", f.Fields)
		}
		h.check(h.fr.WriteData(1, true, []byte("hello")))
		if f := h.want(1); f.Fields[0].Value != "200" {
			t.Errorf("%v, want a 200", f.Fields)
		}
		if f := h.want(0); string(f.Data) != "hel" || !f.End() {
			t.Errorf("body %q, want hel", f.Data)
		}
	})
}

func TestH2ChildServes(t *testing.T) {
	child := spawn(t)
	for _, secure := range []bool{false, true} {
		s, err := child.ListenH2(secure, H2Faults{StreamsPerConn: 2})
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{Protocols: new(http.Protocols)}
		url := "http://" + s.Addr()
		tr.Protocols.SetUnencryptedHTTP2(true)
		if secure {
			tr = &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: clientConfig(child)}
			tr.Protocols.SetHTTP2(true)
			url = "https://" + s.Addr()
		}
		defer tr.CloseIdleConnections()
		for i := range 4 {
			if i == 3 {
				if n, err := s.GoAway(H2GoAway{}); err != nil || n != 1 {
					t.Errorf("GoAway ended %d connections (%v), want 1", n, err)
				}
				if err := s.SetFaults(H2Faults{BodySize: 7}); err != nil {
					t.Error(err)
				}
			}
			resp, err := (&http.Client{Transport: tr, Timeout: patience}).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := []int{0, 0, 0, 7}[i]; len(b) != want {
				t.Errorf("answer %d has %d bytes, want %d", i, len(b), want)
			}
		}
		rep, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if rep.Requests != 4 || rep.Uncounted != 4 || rep.Accepted != 3 || len(rep.PerConn) != 3 {
			t.Errorf("%+v", rep)
		}
		if _, err := s.Report(); err == nil {
			t.Error("a closed server reports")
		}
	}
}
