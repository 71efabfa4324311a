package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/internal/peer"
)

// What a probe sends is what its plan said, and what is measured counts the same.
func TestPlanIsKept(t *testing.T) {
	for name, verify := range map[string]bool{"usual": false, "verify": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startPeer(t, nil, peer.Faults{})
			o := quick("http://" + s.Addr() + "/")
			o.Max, o.Verify = 3*time.Second, verify // long enough for 30 requests on a busy machine
			p := hasty(t, o)
			plan := p.Plan()
			measured(t, p, 1)
			s.Close()
			r := s.Report()
			if r.Accepted != plan.Connections || r.Requests != uint64(plan.Total) {
				t.Errorf("%d connections and %d requests, the plan is %d and %d", r.Accepted, r.Requests, plan.Connections, plan.Total)
			}
			slices.Sort(r.Conns)
			want := []int{0, 0, 1, 1, 1, 1}
			if verify {
				want = append(want, 2, 2, 2, 2)
			}
			if want = append(want, 30); !slices.Equal(r.Conns, want) {
				t.Errorf("requests of the connections %v, want %v", r.Conns, want)
			}
		})
	}
}

// Requests in sequence are not sent faster than the plan says.
func TestPaceIsKept(t *testing.T) {
	t.Parallel()
	var took atomic.Int64
	url := script(t, nil, func(c *scripted, nth int) {
		start := time.Now()
		for n := 1; c.next(idle) != nil; n++ {
			if nth == 0 && n == 30 { // before the answer, as the probe may end with that
				took.Store(int64(time.Since(start)))
			}
			c.say(ok)
		}
	})
	measured(t, hasty(t, quick(url)), 1)
	if d := time.Duration(took.Load()); d < 29*pace-5*time.Millisecond {
		t.Errorf("30 requests came within %v, want %v at least", d, 29*pace)
	}
}

// Connections that the server would keep are closed when the probe ends.
func TestNothingStaysOpen(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 100)
	url := script(t, nil, func(c *scripted, _ int) {
		for c.next(0) != nil {
			c.say(ok)
		}
		gone <- struct{}{}
	})
	o := quick(url)
	o.Max, o.Verify = idle, true
	p := hasty(t, o)
	measured(t, p, 1)
	wantEach(t, gone, p.Plan().Connections)
}

// The header fields are sent with each request, and show nowhere.
func TestHeaderIsSentAndNotShown(t *testing.T) {
	var plain, odd atomic.Int64
	url := script(t, nil, func(c *scripted, _ int) {
		for wait := time.Duration(0); ; wait = idle {
			req := c.next(wait)
			if req == nil {
				return
			}
			user, password, _ := req.BasicAuth()
			if req.Method == "HEAD" && req.URL.RequestURI() == "/a?b=c" && req.Header.Get("X-Key") == "hush" && req.Host == "front.example" &&
				user == "me" && password == "secret" {
				plain.Add(1)
			} else {
				odd.Add(1)
			}
			c.say("HTTP/1.1 200 OK\nContent-Length: 7\n\n")
		}
	})
	o := quick(strings.Replace(url, "http://", "http://me:secret@", 1) + "a?b=c")
	o.Method, o.Header = http.MethodHead, http.Header{"x-key": {"hush"}, "Host": {"front.example"}}
	p := hasty(t, o)
	rep := measured(t, p, 1)
	if n := int(plain.Load()); odd.Load() != 0 || n != p.Plan().Total {
		t.Errorf("%d requests as they should be, %d others; want %d", n, odd.Load(), p.Plan().Total)
	}
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", "hush"} {
		if strings.Contains(string(text)+p.Plan().String(), secret) {
			t.Errorf("%q shows in the report or the plan", secret)
		}
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(back); !bytes.Equal(again, text) {
		t.Errorf("the report doesn't survive JSON:\n%s\n%s", text, again)
	}
}

// A server that asks for less is sent no more.
func TestCountStopsWhenTheServerIsTired(t *testing.T) {
	for _, status := range []string{"429 Too Many Requests", "503 Service Unavailable"} {
		var sent atomic.Int64
		url := script(t, nil, func(c *scripted, nth int) {
			for n := 1; c.next(idle) != nil; n++ {
				if nth > 0 || n < 4 {
					c.say(ok)
					continue
				}
				sent.Store(int64(n))
				c.say("HTTP/1.1 " + status + "\nContent-Length: 0\n\n")
			}
		})
		p := measured(t, hasty(t, quick(url)), 1).Protocols[0]
		if r := p.Requests; r.Served != 4 || r.Limited || r.By != "status "+status[:3] || sent.Load() != 4 {
			t.Errorf("%s: requests %+v, the server saw %d", status, r, sent.Load())
		}
	}
}

// A server that takes its time is not asked for longer than Max.
func TestCountEndsInTime(t *testing.T) {
	t.Parallel()
	s := startPeer(t, nil, peer.Faults{Delay: 50 * time.Millisecond})
	o := quick("http://" + s.Addr() + "/")
	o.Max, o.Requests = 500*time.Millisecond, 1000
	if r := measured(t, hasty(t, o), 1).Protocols[0].Requests; r.By != "time is up" || r.Limited || r.Served > 12 || r.Served < 2 {
		t.Errorf("requests %+v, want at most 11 in %v", r, o.Max)
	}
}

// An answer without end is not read to its end.
func TestLongAnswerIsRefused(t *testing.T) {
	for _, head := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 102 Processing\r\nX: "} {
		url := script(t, nil, func(c *scripted, _ int) {
			c.next(0)
			_, _ = io.WriteString(c, head)
			for b := make([]byte, 64<<10); ; {
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
		if _, err := hasty(t, quick(url)).Run(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q: error %v", head, err)
		}
	}
}
