package pool

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A request without a body can't ask: it gets a connection that is young, or a new one in the
// place of the oldest.
func TestWithoutABodyTheConnectionHasToBeYoung(t *testing.T) {
	for _, limit := range []int{0, 2} {
		for _, method := range []string{"DELETE", "POST", "PUT", "PATCH"} {
			inBubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: limit}, func(s *script) {
				old, young := s.get(), s.get()
				pOld, pYoung := s.wantDial().finish(), s.wantDial().finish()
				pOld.serve("ok")
				old.wantBody("ok")
				time.Sleep(time.Second)
				pYoung.serve("ok")
				young.wantBody("ok")

				tp := s.start(s.request(method, nil)) // the young one
				pYoung.serve("ok")
				tp.wantBody("ok")
				s.wantNoDial()

				time.Sleep(time.Second + 1) // now both are old
				tp = s.start(s.request(method, nil))
				pOld.wantClosed()
				pYoung.wantOpen()
				p := s.wantDial().finish()
				p.serve("ok")
				tp.wantBody("ok")
				st := s.stats()
				if st.Idle != 2 || st.ClosedBy[ReasonUnconfirmed] != 1 || st.Confirmed != 0 {
					s.Errorf("stats %+v", st)
				}
			})
		}
	}
}

// At the limit, many such requests neither wait for each other for ever nor lose a slot.
func TestManyWithoutABodyAtTheLimit(t *testing.T) {
	inBubble(t, Config{ConfirmAfter: time.Second, MaxConnsPerHost: 1}, func(s *script) {
		p := s.exchange()
		time.Sleep(2 * time.Second)
		var tps []*trip
		for range 5 {
			tps = append(tps, s.start(s.request("DELETE", nil)))
		}
		p.wantClosed()
		p = s.wantDial().finish()
		for _, tp := range tps {
			p.serve("ok")
			tp.wantBody("ok")
		}
		s.wantNoDial()
		time.Sleep(2 * time.Second)
		tp := s.get() // asks for nothing
		p.serve("ok")
		tp.wantBody("ok")
	})
}

// A delivered connection that its receiver finds too late is judged again.
func TestDeliveredConnectionHasToBeYoungToo(t *testing.T) {
	inBubble(t, Config{ConfirmAfter: time.Second}, func(s *script) {
		p := s.exchange()
		h := s.tr.allHosts()[0]
		h.mu.Lock()
		c, _ := h.pickLocked(wish{}, time.Now())
		h.holdLocked(c)
		h.mu.Unlock()
		time.Sleep(time.Second + 1)
		ca := newCaution(s.request("DELETE", nil)).of(h)
		if g, err := h.admit(grant{c: c, reused: true}, &wish{caution: ca}); g.c != nil || err != nil {
			t.Errorf("got %+v, %v, want none", g, err)
		}
		p.wantClosed()
	})
}

func TestWhoAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		req         *http.Request
		minds, asks bool
	}{
		"GET":                      {&http.Request{Method: "GET", Body: oneShot("x"), ContentLength: 1}, false, false},
		"":                         {&http.Request{}, false, false},
		"HEAD":                     {&http.Request{Method: "HEAD"}, false, false},
		"OPTIONS":                  {&http.Request{Method: "OPTIONS"}, false, false},
		"TRACE":                    {&http.Request{Method: "TRACE"}, false, false},
		"CONNECT":                  {&http.Request{Method: "CONNECT", Body: oneShot("x")}, false, false},
		"upgrade":                  {&http.Request{Method: "POST", Body: oneShot("x"), Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"x"}}}, false, false},
		"POST":                     {&http.Request{Method: "POST", Body: oneShot("x")}, true, true},
		"POST without":             {&http.Request{Method: "POST"}, true, false},
		"POST of nothing":          {&http.Request{Method: "POST", Body: http.NoBody}, true, false},
		"DELETE":                   {&http.Request{Method: "DELETE"}, true, false},
		"DELETE with":              {&http.Request{Method: "DELETE", Body: oneShot("x"), ContentLength: 1}, true, true},
		"DELETE with, perhaps":     {&http.Request{Method: "DELETE", Body: oneShot(""), ContentLength: -1}, true, false},
		"DELETE in chunks":         {&http.Request{Method: "DELETE", Body: oneShot("x"), TransferEncoding: []string{"chunked"}}, true, true},
		"own":                      {&http.Request{Method: "LOCK", Body: oneShot("x")}, true, true},
		"another expectation":      {&http.Request{Method: "POST", Body: oneShot("x"), Header: http.Header{"Expect": {"wonders"}}}, true, false},
		"the caller's expectation": {&http.Request{Method: "POST", Body: oneShot("x"), Header: http.Header{"Expect": {"100-Continue"}}}, true, true},
	} {
		ca := newCaution(tt.req)
		if minds := ca != nil; minds != tt.minds || minds && ca.asks != tt.asks {
			t.Errorf("%s: %+v", name, ca)
		}
	}
}

func TestConfirmAfterIsChecked(t *testing.T) {
	for field, cfg := range map[string]Config{
		"Config.ConfirmAfter":               {ConfirmAfter: -1},
		`Config.Hosts["h:80"].ConfirmAfter`: {Hosts: map[string]HostConfig{"h:80": {ConfirmAfter: -1}}},
	} {
		_, err := New(cfg)
		if e, ok := errors.AsType[*ConfigError](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := New(Config{ConfirmAfter: time.Nanosecond}); err != nil {
		t.Errorf("asking always: %v", err)
	}
}

// One host's setting is that host's.
func TestConfirmAfterOfAHost(t *testing.T) {
	cfg := Config{Hosts: map[string]HostConfig{"host.test:80": {ConfirmAfter: time.Second}}}
	inBubble(t, cfg, func(s *script) {
		p := s.exchange()
		other := func() *http.Request {
			req := s.request("POST", strings.NewReader("body"))
			req.URL.Host = "other.test"
			return req
		}
		tp := s.start(other())
		q := s.wantDial().finish()
		q.serve("ok")
		tp.wantBody("ok")
		time.Sleep(2 * time.Second)
		tp = s.start(other())
		tp.wantPending()
		if got := q.wantHead(); got.Header["Expect"] != nil {
			t.Error("asked the other host")
		}
		q.Close()
		tp = s.start(s.request("POST", strings.NewReader("body")))
		p.wantExpect()
		p.Close()
		tp.wantError(PhaseSending, nil)
	})
}
