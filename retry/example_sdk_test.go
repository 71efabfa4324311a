package retry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// HTTPClient is what many an SDK takes (aws.HTTPClient and azcore's policy.Transporter, for
// example). An *http.Client is one.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// An SDK stands for one whose server knows a write that comes twice by its key.
type SDK struct {
	HTTP HTTPClient
	URL  string
}

// CreateThing sends the key that makes it safe to send the request again.
func (s *SDK) CreateThing(ctx context.Context, key, name string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/things", strings.NewReader(name))
	if err != nil {
		return "", err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := s.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// An SDK gets its connections and its retries by the HTTPClient that it takes. Its own retries
// are to be off: two layers multiply, and it can't tell what was sent from what wasn't. Retries
// of answers (429, 503) it may keep, as this package leaves answers alone.
func Example_sdk() {
	srv := httptest.NewServer(newThings())
	defer srv.Close()

	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	sdk := &SDK{URL: srv.URL, HTTP: &http.Client{Transport: &retry.Transport{Base: p}}}

	var report retry.Report
	thing, err := sdk.CreateThing(retry.WithReport(context.Background(), &report), "key-1", "spoon")
	fmt.Println(thing, err)
	fmt.Println("retries:", report.Retries)
	// Output:
	// thing 1: spoon <nil>
	// retries: 1
}

// newThings makes a thing once for each key. Its first answer is lost.
func newThings() http.Handler {
	var mu sync.Mutex
	made := map[string]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		thing, again := made[key]
		if !again {
			thing = fmt.Sprintf("thing %d: %s", len(made)+1, name)
			made[key] = thing
			panic(http.ErrAbortHandler) // made, and nobody is told
		}
		io.WriteString(w, thing)
	})
}
