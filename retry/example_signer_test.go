package retry_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A signer signs the attempts of requests. (fetch is in example_client_test.go, and only shows its
// use.)
type signer struct{ key []byte }

var errExpired = errors.New("the signed URL has expired")

// beforeAttempt is called for each attempt when it has its connection and nothing of it was sent:
// the waits for a connection and between attempts are over, so the time that it signs is that of
// sending. A URL that was signed before and has expired is held back.
func (s *signer) beforeAttempt(req *http.Request, retry int) error {
	if expires := req.URL.Query().Get("expires"); expires != "" {
		if t, err := strconv.ParseInt(expires, 10, 64); err != nil || time.Now().Unix() >= t {
			return errExpired
		}
	}
	date := time.Now().UTC().Format(time.RFC3339Nano)
	req.Header.Set("X-Date", date)
	req.Header.Set("Authorization", "HMAC "+s.sign(req, date))
	return nil
}

func (s *signer) sign(req *http.Request, date string) string {
	mac := hmac.New(sha256.New, s.key)
	io.WriteString(mac, req.Method+"\n"+req.URL.RequestURI()+"\n"+date)
	return hex.EncodeToString(mac.Sum(nil))
}

// Each attempt gets a signature of its own, and one that would come too late isn't sent.
func ExampleTransport_beforeAttempt() {
	s := &signer{key: []byte("secret")}
	var seen []string // the signatures that the server got
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "HMAC "+s.sign(r, r.Header.Get("X-Date")) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if seen = append(seen, r.Header.Get("Authorization")); len(seen) == 1 {
			panic(http.ErrAbortHandler) // the first answer is lost
		}
	}))
	defer srv.Close()
	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p, BeforeAttempt: s.beforeAttempt}}

	fmt.Println(fetch(context.Background(), client, srv.URL+"/things"))
	fmt.Println(len(seen), "attempts, signed anew:", seen[0] != seen[1])

	_, err = fetch(context.Background(), client, srv.URL+"/things?expires=1700000000")
	fmt.Println("expired:", errors.Is(err, errExpired), "attempts:", len(seen))
	// Output:
	//  <nil>
	// 2 attempts, signed anew: true
	// expired: true attempts: 2
}
