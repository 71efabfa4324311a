package h1

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"example.com/connwise/internal/wire"
)

// A lastWords connection's Read returns its error along with the last bytes.
type lastWords struct {
	canned
	err error
}

func (f *lastWords) Read(p []byte) (int, error) {
	n, _ := f.canned.Read(p)
	if f.left == "" {
		return n, f.err
	}
	return n, nil
}

type lastEnd struct{ why wire.End }

func (l *lastEnd) ExchangeDone(_ bool, why wire.End) { l.why = why }

// An answer that is whole is good, but its connection isn't, if an error came with the last bytes.
func TestErrorWithTheLastBytes(t *testing.T) {
	for _, cause := range []error{io.EOF, errors.New("reset")} {
		for name, answer := range map[string]string{"usual": ok5, "unusual": "HTTP/1.1 200 OK\r\nPragma: x\r\n" + ok5[len("HTTP/1.1 200 OK\r\n"):], "without a body": "HTTP/1.1 204 No Content\r\n\r\n"} {
			t.Run(cause.Error()+", "+name, func(t *testing.T) {
				c := NewConn(&lastWords{canned{answer: answer}, cause}, &Options{})
				var end lastEnd
				req, _ := http.NewRequest("GET", "http://example.com/", nil)
				resp, err := new(Exchange).Start(c, wire.Request{Request: req}, &end)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(resp.Body); err != nil || resp.ContentLength > 0 && string(b) != "hello" {
					t.Errorf("body %q, %v", b, err)
				}
				if end.why != wire.EndNotKept {
					t.Errorf("the connection's end: %v, want %v", end.why, wire.EndNotKept)
				}
			})
		}
	}
}
