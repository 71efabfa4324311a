package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

const (
	idHeader   = "X-Request-Id"   // names a request
	bodyHeader = "X-Request-Body" // repeats its body, for the peer to compare
)

var lastID atomic.Int64

func nextID() string { return strconv.FormatInt(lastID.Add(1), 10) }

// A bodyKind is how a request's body can be read, and read again.
type bodyKind string

const (
	noBody     bodyKind = "no body"
	replayable bodyKind = "replayable body"
	inMemory   bodyKind = "body in memory without GetBody"
	oneShot    bodyKind = "one-shot stream"
)

var bodyKinds = []bodyKind{replayable, inMemory, oneShot, noBody}

// A call is a request to be sent, with what there is to check about it afterwards.
type call struct {
	*http.Request
	id   string
	body *onceBody // of a one-shot stream
}

// newCall makes a request with an id and a body of the given kind.
func newCall(ctx context.Context, method, url string, kind bodyKind) *call {
	c := &call{id: nextID()}
	text := "body of request " + c.id
	var body io.Reader
	switch kind {
	case noBody:
		text = ""
	case oneShot:
		c.body = &onceBody{r: strings.NewReader(text)}
		body = c.body
	default:
		body = strings.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		panic(err) // the test's own mistake
	}
	if kind == inMemory {
		req.GetBody = nil
	}
	req.Header.Set(idHeader, c.id)
	if text != "" {
		req.Header.Set(bodyHeader, text)
	}
	c.Request = req
	return c
}

// A onceBody is a stream that can be read once. It counts, and remembers misuse.
type onceBody struct {
	r                    io.Reader
	reads, bytes, closes atomic.Int64
	over                 atomic.Bool // its call has returned
}

// lateReads counts Reads of bodies whose calls were over. A Read that is under way when
// its body is closed is none: that is how a Read that hangs is ended.
var lateReads atomic.Int64

func (b *onceBody) Read(p []byte) (int, error) {
	b.reads.Add(1)
	if b.over.Load() {
		lateReads.Add(1)
	}
	n, err := b.r.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

func (b *onceBody) Close() error {
	b.closes.Add(1)
	return nil
}

// misuse says what was wrong with the handling of a body whose call is over; nil is fine
// for a request without one. From then on the body must not be read.
func (b *onceBody) misuse() error {
	if b == nil {
		return nil
	}
	b.over.Store(true)
	if n := b.closes.Load(); n != 1 {
		return fmt.Errorf("the body was closed %d times", n)
	}
	return nil
}

// A doer sends requests: a RoundTripper's RoundTrip, or a Client's Do.
type doer func(*http.Request) (*http.Response, error)

// A front is what people put on top of a transport.
type front struct {
	name string
	over func(*pool.Transport) doer
}

var (
	bare          = front{"RoundTrip", func(tr *pool.Transport) doer { return tr.RoundTrip }}
	client        = front{"Client", func(tr *pool.Transport) doer { return (&http.Client{Transport: tr}).Do }}
	clientTimeout = front{"Client with Timeout", func(tr *pool.Transport) doer {
		return (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Do
	}}
	retrying = front{"retry", func(tr *pool.Transport) doer { return (&retry.Transport{Base: tr}).RoundTrip }}
	fronts   = []front{bare, client, clientTimeout, retrying}
)

// eachFront runs test over plain connections and TLS, with each front.
func eachFront(t *testing.T, test func(*testing.T, *rig, front)) {
	t.Helper()
	eachMode(t, func(t *testing.T, r *rig) {
		for _, f := range fronts {
			t.Run(f.name, func(t *testing.T) { test(t, newRig(t, r.mode), f) })
		}
	})
}

// send sends c, reads the answer to its end, and checks that it is c's own.
func (do doer) send(c *call) error {
	resp, err := do(c.Request)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || string(b) != c.id {
		return &wrongAnswerError{c.id, resp.StatusCode, string(b)}
	}
	return c.body.misuse()
}

// must sends c and ends the test if that fails.
func (do doer) must(t *testing.T, c *call) {
	t.Helper()
	if err := do.send(c); err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.id, err)
	}
}

type wrongAnswerError struct {
	id     string
	status int
	body   string
}

func (e *wrongAnswerError) Error() string {
	return fmt.Sprintf("request %s got the answer %d %q", e.id, e.status, e.body)
}

// poolError is err's *pool.Error, and an empty one after a complaint if it has none.
func poolError(t *testing.T, err error) *pool.Error {
	t.Helper()
	pe, ok := errors.AsType[*pool.Error](err)
	if !ok {
		t.Errorf("no *pool.Error in %#v", err)
		return &pool.Error{}
	}
	return pe
}

// together runs f for 0 to n-1 at the same time, and waits. f must not end the test.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// pause waits because waiting is what is tested.
func pause(d time.Duration) { <-time.After(d) }
