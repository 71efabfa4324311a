package bench

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// TestViolationsAreReported runs a client that breaks RFC 9113 and says that all is well.
func TestViolationsAreReported(t *testing.T) {
	o := smoke()
	o.Scenarios, o.Protos, o.Requests = []string{"goaway"}, []string{"h2c"}, 3
	o.Clients = []Client{{Name: "rude", New: func(Setup) (http.RoundTripper, error) { return roundTripper(dataFirst), nil }}}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := rep.Results[0]
	for _, want := range []string{"the peer saw 3 violations of RFC 9113", "DATA on stream 1"} {
		if !strings.Contains(r.FirstError, want) {
			t.Errorf("first error %q, want %q in it", r.FirstError, want)
		}
	}
	if r.Violations != 3 || !strings.Contains(r.Wrong(), "3 against RFC 9113") {
		t.Errorf("%d violations, wrong is %q", r.Violations, r.Wrong())
	}
	if r.Failed != 0 || *r.Lost != 3 || *r.Dials != 3 {
		t.Errorf("%d failed, %d lost, %d dials; want 0, 3, 3", r.Failed, *r.Lost, *r.Dials)
	}
}

// dataFirst sends DATA on a stream that it never opened, and waits until the server has
// taken it.
func dataFirst(req *http.Request) (*http.Response, error) {
	c, err := net.Dial("tcp", req.URL.Host)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return nil, err
	}
	fr := http2.NewFramer(c, c)
	_ = fr.WriteSettings() // a failed write shows in the reads
	_ = fr.WriteData(1, true, nil)
	_ = fr.WritePing(false, [8]byte{})
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return nil, err
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() {
			h := http.Header{"X-Request-Id": req.Header["X-Request-Id"]}
			return &http.Response{StatusCode: 200, Proto: "HTTP/2.0", Header: h, Body: http.NoBody}, nil
		}
	}
}
