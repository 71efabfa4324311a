package retry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A ClientOption and WithHTTPClient stand for those of google.golang.org/api/option and of
// whatever else is configured by such functions.
type ClientOption func(*Service)

// WithHTTPClient has the service use client as it is.
func WithHTTPClient(client *http.Client) ClientOption {
	return func(s *Service) { s.client = client }
}

// A Service stands for one of a vendor's, generated for an API.
type Service struct{ client *http.Client }

// NewService applies the options.
func NewService(opts ...ClientOption) *Service {
	s := &Service{client: http.DefaultClient}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Get fetches a thing.
func (s *Service) Get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return "", err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// With google-api-go it reads storage.NewClient(ctx, option.WithHTTPClient(client)). The
// service then adds no credentials of its own: an oauth2.Transport goes on top of the
// retry.Transport, as internal/recipes shows.
func Example_options() {
	srv := httptest.NewServer(lostAtFirst(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()

	p, err := pool.New(pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	client := &http.Client{Transport: &retry.Transport{Base: p}}

	service := NewService(WithHTTPClient(client))
	fmt.Println(service.Get(context.Background(), srv.URL))
	// Output: hello <nil>
}
