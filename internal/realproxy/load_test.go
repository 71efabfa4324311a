//go:build proxies && unix

package realproxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/connwise/internal/peer"
)

// requestTime bounds a request. None comes near it: one that hangs is a failure.
const requestTime = 10 * time.Second

var postBody = bytes.Repeat([]byte("x"), 240)

// A record is what became of a client's requests of one kind.
type record struct {
	client string

	mu   sync.Mutex
	sent []attempt
}

// An attempt is one RoundTrip of a client. err is nil if the answer came whole, was a 200
// and the right one.
type attempt struct {
	id         uint64
	method     string
	quiet      time.Time // since when its connection may have been idle; zero: unknown
	begin, end time.Time
	informed   bool // an idle limit was in force; on lanes only
	err        error
}

func (rec *record) add(a attempt) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.sent = append(rec.sent, a)
}

// after is what became of those that began later than so long after the first.
func (rec *record) after(d time.Duration) *record {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	var from time.Time
	for i, a := range rec.sent {
		if t := a.begin.Add(d); i == 0 || t.Before(from) {
			from = t
		}
	}
	return rec.but(func(a attempt) bool { return a.begin.Before(from) })
}

// informed is what became of those for which an idle limit was in force.
func (rec *record) informed() *record {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.but(func(a attempt) bool { return !a.informed })
}

// but is the record without some. rec.mu is held.
func (rec *record) but(out func(attempt) bool) *record {
	return &record{client: rec.client, sent: slices.DeleteFunc(slices.Clone(rec.sent), out)}
}

// within is how many came so soon after their lane's last, unless that failed: late timers make
// gaps longer.
func (rec *record) within(d time.Duration) (n int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, a := range rec.sent {
		switch {
		case a.err != nil:
			n--
		case !a.quiet.IsZero() && a.begin.Sub(a.quiet) < d:
			n++
		}
	}
	return n
}

// failures are the attempts that failed.
func (rec *record) failures() []attempt {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	var failed []attempt
	for _, a := range rec.sent {
		if a.err != nil {
			failed = append(failed, a)
		}
	}
	return failed
}

// send makes one request with an id of its own and reads the answer. It blocks until then,
// requestTime at most.
func (r *rig) send(rt http.RoundTripper, method string, rec *record) error {
	return r.sendAfter(rt, method, rec, time.Time{}).err
}

// sendAfter is send, on a lane that was quiet since then.
func (r *rig) sendAfter(rt http.RoundTripper, method string, rec *record, since time.Time) attempt {
	a := attempt{id: r.ids.Add(1), method: method, quiet: since, begin: time.Now()}
	a.informed = !since.IsZero() && hasLimit(rt)
	a.err = r.exchange(rt, method, strconv.FormatUint(a.id, 10))
	a.end = time.Now()
	rec.add(a)
	return a
}

func (r *rig) exchange(rt http.RoundTripper, method, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	var body io.Reader
	if method == http.MethodPost {
		body = bytes.NewReader(postBody) // http.NewRequest gives it a GetBody
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url, body)
	if err != nil {
		return err
	}
	req.Header.Set(peer.HeaderID, id)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	return r.wantAnswer(resp, id)
}

// wantAnswer checks that an answer is the origin's to request id, and came over what the
// rig is for.
func (r *rig) wantAnswer(resp *http.Response, id string) error {
	got := resp.Header.Get(peer.HeaderID)
	if resp.StatusCode == http.StatusOK && got == id && resp.ProtoMajor == r.proto.Major() {
		return nil
	}
	return &answerError{resp.Proto, resp.StatusCode, id, got}
}

// An answerError is an answer that came whole and isn't the origin's to this request.
type answerError struct {
	proto     string
	status    int
	want, got string // ids
}

func (e *answerError) Error() string {
	return fmt.Sprintf("%s status %d, request %s, answer to %q", e.proto, e.status, e.want, e.got)
}

// pause waits for d. It reports false when stop was closed first.
func pause(d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}
