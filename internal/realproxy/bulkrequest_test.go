//go:build proxies && unix

package realproxy

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"example.com/connwise/internal/peer"
)

const (
	bulkTime = time.Minute // bounds a request of a bulk load
	maxBulk  = 8 << 20
)

var bulkMethods = []string{
	http.MethodGet, http.MethodGet, http.MethodPost, http.MethodPost, http.MethodPost,
	http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead,
}

// sendBulk makes one request of a random kind and compares the answer.
func (r *rig) sendBulk(rt http.RoundTripper, rec *record) {
	method := bulkMethods[rand.N(len(bulkMethods))]
	var up int64
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		up = bulkSize()
	}
	r.sendSized(rt, rec, method, up, bulkSize())
}

// sendLong uploads the longest body.
func (r *rig) sendLong(rt http.RoundTripper, rec *record) {
	r.sendSized(rt, rec, http.MethodPost, maxBulk, 0)
}

// sendSized makes a request with a body of up bytes, asks for one of down bytes, and compares
// the answer.
func (r *rig) sendSized(rt http.RoundTripper, rec *record, method string, up, down int64) {
	ctx, cancel := context.WithTimeout(context.Background(), bulkTime)
	defer cancel()
	a := attempt{id: r.ids.Add(1), method: method, begin: time.Now()}
	req, err := r.sizedRequest(ctx, a.id, method, up, down)
	if err == nil {
		err = r.checkAnswer(rt, req, a.id)
	}
	a.err, a.end = err, time.Now()
	rec.add(a)
}

// sizedRequest makes the request. Its body, if any, can be had again.
func (r *rig) sizedRequest(ctx context.Context, id uint64, method string, up, down int64) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url, nil)
	if err != nil {
		return nil, err
	}
	if up > 0 || method == http.MethodPost {
		setBody(req, pattern{id, up})
	}
	req.Header.Set(peer.HeaderID, strconv.FormatUint(id, 10))
	req.Header.Set(headerUp, strconv.FormatInt(up, 10))
	req.Header.Set(headerDown, strconv.FormatInt(down, 10))
	if rand.N(2) == 0 {
		req.Header.Set(headerLength, "yes")
	}
	return req, nil
}

// setBody gives the request a body of a length that is told, or isn't.
func setBody(req *http.Request, p pattern) {
	req.GetBody = func() (io.ReadCloser, error) {
		again := p
		return io.NopCloser(&again), nil
	}
	req.Body, _ = req.GetBody()
	req.ContentLength = -1
	if p.left > 0 && rand.N(2) == 0 {
		req.ContentLength = p.left
	}
}

// bulkSize is mostly small, now and then at an edge of a frame or window, and rarely up
// to maxBulk.
func bulkSize() int64 {
	switch n := rand.N(1000); {
	case n < 100:
		return 0
	case n < 700:
		return rand.N[int64](2 << 10)
	case n < 750:
		edges := []int64{16 << 10, 32 << 10, 64 << 10, 65_535}
		return edges[rand.N(len(edges))] + rand.N[int64](3) - 1
	case n < 940:
		return rand.N[int64](64 << 10)
	case n < 998:
		return rand.N[int64](256 << 10)
	case n < 999:
		return rand.N[int64](maxBulk)
	default:
		return maxBulk
	}
}

// checkAnswer makes the round trip. It returns nil if the answer is the origin's to this
// request and came whole and right.
func (r *rig) checkAnswer(rt http.RoundTripper, req *http.Request, id uint64) error {
	down, err := strconv.ParseInt(req.Header.Get(headerDown), 10, 64)
	if err != nil {
		return err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := r.wantAnswer(resp, strconv.FormatUint(id, 10)); err != nil {
		return err
	}
	if req.Method == http.MethodHead {
		down = 0
	}
	want := &matcher{pattern{id, down}}
	if _, err := io.Copy(want, resp.Body); err != nil {
		return err
	}
	return want.whole()
}
