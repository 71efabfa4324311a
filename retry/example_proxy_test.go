package retry_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// newProxy returns a reverse proxy in front of backend. The body of a request that comes in can
// be read once: until something of it was read, the request is sent again by the policy's rules
// (after a refused dial, any method is), and never after that.
//
// A client's Idempotency-Key would allow more. This backend doesn't heed such keys.
func newProxy(backend *url.URL, p *pool.Transport) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.SetXForwarded()
		},
		Transport:    &retry.Transport{Base: p, Policy: retry.Policy{IgnoreIdempotencyKey: true}},
		ErrorHandler: answerFailure,
	}
}

// answerFailure tells the proxy's client by the status what is known of its request:
//
//   - 503 with Retry-After: no server has processed it. It may be sent again, whatever its method.
//   - 504: no answer came in time. It may have been processed.
//   - 502: the connection was lost. It may have been processed.
//   - 400: the client's own body couldn't be read.
func answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	type unprocessed interface { // a *retry.Error, which knows all attempts, or else a *pool.Error
		error
		Unprocessed() bool
	}
	caller, _ := errors.AsType[*pool.CallerError](err)
	proof, _ := errors.AsType[unprocessed](err)
	limit, _ := errors.AsType[net.Error](err)
	status := http.StatusBadGateway
	switch {
	case caller != nil && caller.Source == pool.CallerBody:
		status = http.StatusBadRequest
	case proof != nil && proof.Unprocessed():
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	case limit != nil && limit.Timeout():
		status = http.StatusGatewayTimeout
	}
	http.Error(w, http.StatusText(status), status)
}

func Example_reverseProxy() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler) // the connection ends, and nobody knows what was done
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer backend.Close()
	p, err := pool.New(pool.Config{Base: &http.Transport{DialContext: refusedAtFirst()}}) // or pool.Config{}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	target, err := url.Parse(backend.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	front := httptest.NewServer(newProxy(target, p))
	defer front.Close()

	post := func(path string) {
		resp, err := front.Client().Post(front.URL+path, "text/plain", strings.NewReader("a spoon"))
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Printf("%s %d, Retry-After %q\n", path, resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	post("/refused-at-first")
	post("/lost")
	backend.Close()
	post("/down")
	// Output:
	// /refused-at-first 201, Retry-After ""
	// /lost 502, Retry-After ""
	// /down 503, Retry-After "1"
}
