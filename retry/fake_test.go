package retry

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.com/connwise/pool"
)

// errWire stands for what a network error is: a text that no decision may look at.
var errWire = errors.New("unexpected eof while reading")

// failed returns what a pool reports for a failure in the given phase.
func failed(phase pool.Phase) *pool.Error {
	return &pool.Error{Phase: phase, Host: "api.test:443", Err: errWire}
}

// timedOutIn is failed, but a time limit was the cause.
func timedOutIn(phase pool.Phase) *pool.Error {
	return &pool.Error{Phase: phase, Host: "api.test:443", Err: syscall.ETIMEDOUT}
}

// A sent is an attempt as the base saw it.
type sent struct {
	req  *http.Request
	body string // what was read of it
}

// A script is a base that ends its nth attempt with its nth entry, an error or an
// *http.Response. It reads and closes each body, as a RoundTripper must, but leaves the
// body alone when the error says that nothing was sent.
type script struct {
	t     *testing.T
	ends  []any
	sent  []sent
	other func(*http.Request) // called in each attempt
}

func newScript(t *testing.T, ends ...any) *script { return &script{t: t, ends: ends} }

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.t.Helper()
	if len(s.sent) == len(s.ends) {
		s.t.Fatalf("attempt %d was made, only %d are right", len(s.sent)+1, len(s.ends))
	}
	end := s.ends[len(s.sent)]
	if s.other != nil {
		s.other(req)
	}
	s.sent = append(s.sent, sent{req, s.take(req, end)})
	switch end := end.(type) {
	case *http.Response:
		end.Request = req
		return end, nil
	case error:
		return nil, end
	}
	panic("a script ends attempts with errors and answers")
}

func (s *script) take(req *http.Request, end any) string {
	if req.Body == nil {
		return ""
	}
	defer req.Body.Close()
	if err, ok := end.(error); ok {
		if e, ok := errors.AsType[*pool.Error](err); ok && e.Phase.Unprocessed() {
			return ""
		}
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		s.t.Errorf("attempt %d could not read its body: %v", len(s.sent)+1, err)
	}
	return string(b)
}

// wantAttempts checks that every end of the script was used.
func (s *script) wantAttempts(n int) {
	s.t.Helper()
	if len(s.sent) != n {
		s.t.Errorf("%d attempts were made, want %d", len(s.sent), n)
	}
}

// status returns an answer. Headers are given as name, value, name, value.
func status(code int, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("answer"))}
}

// at once makes a policy wait for nothing, so that tests that aren't about time have none.
func atOnce(p Policy) Policy {
	p.Interval, p.Spread = 1, -1
	return p
}

// newRequest fails the test where http.NewRequest does.
func newRequest(t testing.TB, method string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://api.test/v1/things", body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// answers tells whether resp answers the caller's request: itself, or a shallow copy.
func answers(resp *http.Response, req *http.Request) bool {
	got := resp.Request
	return got != nil && (got == req || ReportOf(resp) != nil && got.URL == req.URL && got.Body == req.Body)
}

// lastError is the last attempt's own error.
func lastError(err error) error {
	if e, ok := err.(*Error); ok {
		return e.Err
	}
	return err
}
