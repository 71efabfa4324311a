package h1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/connwise/internal/wire"
)

// FuzzAnswer has a peer that sends anything and closes. Whatever it is, the exchange
// ends, the owner is told once if Start had an answer, and a connection is kept only
// behind an answer that was read to its end.
func FuzzAnswer(f *testing.F) {
	for _, tt := range keepCases {
		f.Add([]byte(tt.answer), uint8(0), uint8(10))
	}
	for _, s := range []string{ok5 + ok5, hint + ok5, switching + "x", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 100\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 30\r\n\r\n\x1f\x8b\x08\x00"} {
		for ways := range uint8(16) {
			f.Add([]byte(s), ways, uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, answer []byte, ways, reads uint8) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{MaxHeaderBytes: 1000})
			req := get(t)
			if ways&1 != 0 {
				req = post(t, newBody(t, "hello"))
			}
			if ways&2 != 0 {
				req.Method = "HEAD"
			}
			req.Gzip = ways&4 != 0
			a := r.start(req)
			synctest.Wait()
			r.peer.Write(answer)
			r.peer.CloseWrite()
			<-a.ret
			if a.err != nil {
				r.wantClosed()
				return
			}
			err := consume(a.resp, int(reads))
			if ways&8 == 0 || a.resp.Body != http.NoBody {
				a.resp.Body.Close()
			}
			switch why := <-a.ends; {
			case why != wire.EndKept:
				r.wantClosed()
			case err != nil && err != io.EOF && a.x.gz == nil:
				t.Errorf("kept after %v", err)
			case a.resp.Close:
				t.Error("kept, though the answer said close")
			}
		})
	})
}

func consume(resp *http.Response, reads int) error {
	p := make([]byte, 10)
	for range reads {
		if _, err := resp.Body.Read(p); err != nil {
			return err
		}
	}
	return nil
}

// FuzzHead has requests of anything. What is written is a head that net/http's server
// side takes for one request, with the framing that the body really has.
func FuzzHead(f *testing.F) {
	f.Add("GET", "http://example.com/a?b", "example.com", "X-Name", "value", "")
	f.Add("POST", "http://example.com/", "", "Content-Length", "0", "abc")
	f.Add("PUT", "//x/\r\n", "a\r\nb: c", "a\r\nb", "c\r\n\r\nGET / HTTP/1.1", "abc")
	f.Add("BREW", "http://[::1%25a]:80", "", "transfer-encoding", "chunked", "x")
	f.Fuzz(func(t *testing.T, method, url, host, name, value, body string) {
		req, err := http.NewRequest(method, url, io.NopCloser(strings.NewReader(body)))
		if err != nil {
			return
		}
		req.Host = host
		req.Header[name] = []string{value}
		r := wire.Request{Request: req, Small: []byte(body)}
		head, err := ours(r)
		if err != nil {
			var invalid *wire.RequestError
			if !errors.As(err, &invalid) {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		lines := strings.Split(head, "\r\n")
		if strings.ContainsAny(strings.Join(lines, ""), "\r\n") || strings.Count(head, "\r\n\r\n") != 1 || !strings.HasSuffix(head, "\r\n\r\n") {
			t.Fatalf("head %q", head)
		}
		lengths := 0
		for _, l := range lines[1:] {
			k, v, _ := strings.Cut(l, ":")
			switch strings.ToLower(k) {
			case "transfer-encoding":
				t.Fatalf("head %q", head)
			case "content-length":
				if lengths++; strings.TrimSpace(v) != fmt.Sprint(len(body)) {
					t.Fatalf("head %q of a body of %d bytes", head, len(body))
				}
			}
		}
		if lengths > 1 || lengths == 0 && body != "" {
			t.Fatalf("head %q of a body of %d bytes", head, len(body))
		}
	})
}
