package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A modelReq is a request, from its start to the end of its answer.
type modelReq struct {
	m        *model
	id       int
	cautious bool // it may not run twice, and ConfirmAfter is set
	cancel   context.CancelFunc
	fate     chan modelFate

	began    time.Time
	deadline time.Time // zero: none
	stopped  time.Time // when it was cancelled; zero: it wasn't
	late     bool      // begun after Shutdown or Close
	fresh    time.Time // it prefers connections opened later; zero: any will do

	// Guarded by model.mu.
	on       *modelConn // the last connection on which its head arrived
	came     int        // how often it did
	refused  int        // how often its peer refused it
	returned bool       // RoundTrip has
	at       time.Time  // when
	err      error      // with that
	empty    bool       // the answer has no content
	early    bool       // and came while the request's body was being sent
	decided  bool       // what becomes of the answer
	done     bool       // the answer's body was closed
	doneAt   time.Time
}

type modelFate uint8

const (
	fateRead modelFate = iota
	fateClose
)

// request starts one.
func (m *model) request(s step) {
	r := &modelReq{m: m, id: len(m.reqs), fate: make(chan modelFate, 1), began: time.Now(), late: m.shut != nil || m.over}
	method, body := "GET", io.Reader(nil)
	if strings.HasPrefix(s.what, "post") {
		method, body = "POST", strings.NewReader("payload")
		r.cautious = m.cfg.confirm > 0
	}
	ctx := context.Background()
	if strings.HasSuffix(s.what, "until") {
		after := []time.Duration{3 * time.Second, time.Nanosecond, time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond}[s.v%5]
		r.deadline = r.began.Add(after)
		ctx, r.cancel = context.WithDeadline(ctx, r.deadline)
	} else {
		ctx, r.cancel = context.WithCancel(ctx)
	}
	if strings.HasSuffix(s.what, "fresh") {
		r.fresh = r.began.Add(-[]time.Duration{0, time.Millisecond, 100 * time.Millisecond}[s.v%3])
		ctx = withOptions(ctx, func(o *options) { o.fresh = r.fresh })
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://host.test/", body)
	if err != nil {
		m.errorf("%v", err)
		return
	}
	req.Header.Set("X-Id", strconv.Itoa(r.id))
	m.reqs = append(m.reqs, r)
	go r.run(req)
}

func (r *modelReq) run(req *http.Request) {
	m := r.m
	defer m.recovered()
	resp, err := m.tr.RoundTrip(req)
	m.mu.Lock()
	r.returned, r.err, r.at = true, err, time.Now()
	if err == nil {
		r.empty = resp.ContentLength == 0
		r.early = r.empty && resp.Body != http.NoBody
		if got := resp.Header.Get("X-Id"); got != strconv.Itoa(r.id) {
			m.errorf("request %d got the answer to %s", r.id, got)
		}
	}
	m.mu.Unlock()
	if err != nil {
		return
	}
	fate := <-r.fate
	if fate == fateRead {
		_, err = io.ReadAll(resp.Body)
	}
	resp.Body.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	r.done, r.doneAt = true, time.Now()
	if _, ok := errors.AsType[*Error](err); err != nil && !ok {
		m.errorf("request %d: a bare error from the body: %v", r.id, err)
	}
}

// decide says what becomes of the answer, once there is one. The first word counts.
func (r *modelReq) decide(f modelFate) {
	if !r.decided {
		r.decided = true
		if c := r.on; c != nil && c.parts {
			c.idleSince = time.Now()
		}
		r.fate <- f
	}
}

// A modelWarm is a call of Warm.
type modelWarm struct {
	deadline time.Time
	cancel   context.CancelFunc

	// Guarded by model.mu.
	returned bool
}

// warm calls Warm. It has three seconds.
func (m *model) warm(s step) {
	w := &modelWarm{deadline: time.Now().Add(3 * time.Second)}
	ctx, cancel := context.WithDeadline(context.Background(), w.deadline)
	w.cancel = cancel
	m.warms = append(m.warms, w)
	go func() {
		defer m.recovered()
		err := m.tr.Warm(ctx, "http://host.test/", s.v%4)
		m.mu.Lock()
		defer m.mu.Unlock()
		w.returned = true
		if _, ok := errors.AsType[*Error](err); err != nil && !ok {
			m.errorf("Warm: a bare error: %v", err)
		}
		if time.Now().After(w.deadline) {
			m.errorf("Warm has returned behind its deadline")
		}
	}()
}

// stop is the caller's cancel.
func (r *modelReq) stop() {
	r.stopped = time.Now()
	r.cancel()
}

// pending are the requests that can be cancelled: those without an answer that was read.
func (m *model) pending() []*modelReq {
	return some(m.reqs, func(r *modelReq) bool { return !r.over() && r.stopped.IsZero() })
}

// answered are those whose caller has yet to say what becomes of the answer.
func (m *model) answered() []*modelReq {
	return some(m.reqs, func(r *modelReq) bool { return r.returned && r.err == nil && !r.decided })
}

// over tells whether the request holds nothing any more.
func (r *modelReq) over() bool { return r.returned && (r.err != nil || r.done) }

// unplaced tells whether it is under way and no peer has it.
func (r *modelReq) unplaced() bool { return !r.returned && r.on == nil }
