package h1

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

// theirs is what net/http writes for the request.
func theirs(t *testing.T, r *http.Request, proxied bool) (string, error) {
	t.Helper()
	clone := r.Clone(r.Context())
	var b bytes.Buffer
	var err error
	if proxied {
		err = clone.WriteProxy(&b)
	} else {
		err = clone.Write(&b)
	}
	head, _, _ := strings.Cut(b.String(), "\r\n\r\n")
	return head + "\r\n\r\n", err
}

func ours(r wire.Request) (string, error) {
	f, err := frame(&r)
	if err != nil {
		return "", err
	}
	b, err := appendHead(nil, &r, f, nil)
	return string(b), err
}

func parseURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var headCases = map[string]func(t *testing.T, r *http.Request){
	"plain":          func(t *testing.T, r *http.Request) {},
	"no method":      func(t *testing.T, r *http.Request) { r.Method = "" },
	"post":           func(t *testing.T, r *http.Request) { r.Method = "POST" },
	"put":            func(t *testing.T, r *http.Request) { r.Method = "PUT" },
	"patch":          func(t *testing.T, r *http.Request) { r.Method = "PATCH" },
	"delete":         func(t *testing.T, r *http.Request) { r.Method = "DELETE" },
	"own method":     func(t *testing.T, r *http.Request) { r.Method = "M-SEARCH" },
	"own Host":       func(t *testing.T, r *http.Request) { r.Host = "virtual.example:81" },
	"IDN":            func(t *testing.T, r *http.Request) { r.Host = "bücher.example:80" },
	"bad Host":       func(t *testing.T, r *http.Request) { r.Host = "/run/a b.sock" },
	"Host with CRLF": func(t *testing.T, r *http.Request) { r.Host = "a\r\nX: y" },
	"zone":           func(t *testing.T, r *http.Request) { r.URL = parseURL(t, "http://[fe80::1%25en0]:8080/"); r.Host = "" },
	"query":          func(t *testing.T, r *http.Request) { r.URL = parseURL(t, "http://example.com/a%2fb?x=1&y=%20z#frag") },
	"ForceQuery":     func(t *testing.T, r *http.Request) { r.URL = parseURL(t, "http://example.com/a?") },
	"no path":        func(t *testing.T, r *http.Request) { r.URL = parseURL(t, "http://example.com") },
	"star":           func(t *testing.T, r *http.Request) { r.Method = "OPTIONS"; r.URL.Path, r.URL.Opaque = "", "*" },
	"opaque":         func(t *testing.T, r *http.Request) { r.URL.Opaque = "//other.example/%41" },
	"userinfo":       func(t *testing.T, r *http.Request) { r.URL.User = url.UserPassword("u", "p") },
	"CONNECT":        func(t *testing.T, r *http.Request) { r.Method = "CONNECT"; r.URL = &url.URL{Host: "a.example:443"} },
	"CONNECT opaque": func(t *testing.T, r *http.Request) { r.Method = "CONNECT"; r.URL = &url.URL{Opaque: "a.example:443"} },
	"agent":          func(t *testing.T, r *http.Request) { r.Header.Set("User-Agent", " mine/1\n ") },
	"no agent":       func(t *testing.T, r *http.Request) { r.Header["User-Agent"] = []string{""} },
	"nil agent":      func(t *testing.T, r *http.Request) { r.Header["User-Agent"] = nil },
	"Close":          func(t *testing.T, r *http.Request) { r.Close = true },
	"Close said":     func(t *testing.T, r *http.Request) { r.Close = true; r.Header.Set("Connection", "Close") },
	"fields": func(t *testing.T, r *http.Request) {
		r.Header = http.Header{"B": {"1", "2"}, "A": {"x"}, "Zz": {" y\t"}}
	},
	"CRLF in a value": func(t *testing.T, r *http.Request) { r.Header.Set("A", "x\r\nB: y") },
	"bad name": func(t *testing.T, r *http.Request) {
		r.Header["A b"] = []string{"x"}
		r.Header["A:\r\n"] = []string{"y"}
	},
	"framing by hand": func(t *testing.T, r *http.Request) {
		r.Header.Set("Content-Length", "7")
		r.Header.Set("Transfer-Encoding", "gzip")
		r.Header.Set("Trailer", "X")
		r.Header.Set("Host", "other")
	},
	"sized body": func(t *testing.T, r *http.Request) {
		r.Method, r.Body, r.ContentLength = "POST", io.NopCloser(strings.NewReader("abc")), 3
	},
	"sized body of a GET": func(t *testing.T, r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("abc")), 3
	},
	"unsized body": func(t *testing.T, r *http.Request) { r.Method, r.Body = "POST", io.NopCloser(strings.NewReader("abc")) },
	"length -1": func(t *testing.T, r *http.Request) {
		r.Method, r.Body, r.ContentLength = "BREW", io.NopCloser(strings.NewReader("abc")), -1
	},
	"chunked by hand": func(t *testing.T, r *http.Request) {
		r.Method, r.Body, r.ContentLength = "POST", io.NopCloser(strings.NewReader("abc")), 3
		r.TransferEncoding = []string{"chunked"}
	},
	"chunked NoBody": func(t *testing.T, r *http.Request) {
		r.Method, r.Body, r.TransferEncoding = "POST", http.NoBody, []string{"chunked"}
	},
	"chunked without a body": func(t *testing.T, r *http.Request) { r.TransferEncoding = []string{"chunked"} },
	"identity NoBody": func(t *testing.T, r *http.Request) {
		r.Method, r.Body, r.TransferEncoding = "DELETE", http.NoBody, []string{"identity"}
	},
	"identity sized": func(t *testing.T, r *http.Request) {
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(strings.NewReader("abc")), 3, []string{"identity"}
	},
	"trailers": func(t *testing.T, r *http.Request) {
		r.Method, r.Body = "POST", io.NopCloser(strings.NewReader("abc"))
		r.Trailer = http.Header{"X-B": nil, "x-a": {"1"}}
	},
	"trailers without chunks": func(t *testing.T, r *http.Request) {
		r.Method, r.Body, r.ContentLength = "POST", io.NopCloser(strings.NewReader("abc")), 3
		r.Trailer = http.Header{"X-B": nil}
	},
	"nil Body with a length": func(t *testing.T, r *http.Request) { r.Method, r.ContentLength = "POST", 10 },
	"control in the target":  func(t *testing.T, r *http.Request) { r.URL.Opaque = "/a\r\nX: y" },
	"forbidden trailer": func(t *testing.T, r *http.Request) {
		r.Method, r.Body = "POST", io.NopCloser(strings.NewReader("abc"))
		r.Trailer = http.Header{"Content-Length": nil}
	},
}

// TestHeadIsWhatNetHTTPWrites compares heads, and the fact of an error, with net/http's.
func TestHeadIsWhatNetHTTPWrites(t *testing.T) {
	for name, change := range headCases {
		for _, proxied := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := request(t, "GET", nil)
				change(t, r)
				want, wantErr := theirs(t, r, proxied)
				r = request(t, "GET", nil)
				change(t, r)
				got, err := ours(wire.Request{Request: r, Proxied: proxied})
				var invalid *wire.RequestError
				if (err != nil) != (wantErr != nil) || err != nil && !errors.As(err, &invalid) {
					t.Fatalf("error %v, want %v", err, wantErr)
				}
				if err == nil && got != want {
					t.Errorf("got\n%q\nwant\n%q", got, want)
				}
			})
		}
	}
}

func TestHeadHasWhatTheCallerAdds(t *testing.T) {
	r := wire.Request{Request: request(t, "GET", nil), Proxied: true, Gzip: true, Close: true,
		Extra: http.Header{"Proxy-Authorization": {"Basic x"}}}
	want := "GET http://example.com/p HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\n" +
		"Connection: close\r\nAccept-Encoding: gzip\r\nProxy-Authorization: Basic x\r\n\r\n"
	if got, err := ours(r); got != want || err != nil {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

func TestHeadHasNoSecondSpellingOfFraming(t *testing.T) {
	r := request(t, "POST", strings.NewReader("abc"))
	r.Header = http.Header{"content-length": {"0"}, "TRANSFER-ENCODING": {"chunked"}, "host": {"evil"}, "user-agent": {"x"}}
	got, err := ours(wire.Request{Request: r, Small: []byte("abc")})
	want := "POST /p HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 3\r\n\r\n"
	if got != want || err != nil {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

func TestBodyThatWouldBeTheNextRequestIsRefused(t *testing.T) {
	r := request(t, "POST", io.NopCloser(strings.NewReader("GET / HTTP/1.1\r\n\r\n")))
	r.TransferEncoding = []string{"identity"}
	var invalid *wire.RequestError
	if _, err := ours(wire.Request{Request: r}); !errors.As(err, &invalid) {
		t.Errorf("err = %v, want a wire.RequestError", err)
	}
}

func TestInvalidMethodIsRefused(t *testing.T) {
	for _, m := range []string{"GET /x HTTP/1.1\r\nA:", "A B", "Ä"} {
		r := request(t, "GET", nil)
		r.Method = m
		var invalid *wire.RequestError
		if _, err := ours(wire.Request{Request: r}); !errors.As(err, &invalid) {
			t.Errorf("method %q: err = %v, want a wire.RequestError", m, err)
		}
	}
}

func TestTraceSeesTheFieldsInOrder(t *testing.T) {
	var got []string
	trace := &httptrace.ClientTrace{WroteHeaderField: func(k string, v []string) {
		got = append(got, k+"="+strings.Join(v, "|"))
	}}
	r := wire.Request{Request: request(t, "POST", io.NopCloser(strings.NewReader("abc"))), Gzip: true, Close: true}
	r.Header = http.Header{"B": {"1", "2\n"}, "A": {"x"}}
	r.Trailer = http.Header{"X-T": nil}
	f, err := frame(&r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := appendHead(nil, &r, f, trace); err != nil {
		t.Fatal(err)
	}
	want := []string{"Host=example.com", "User-Agent=Go-http-client/1.1", "Connection=close",
		"Transfer-Encoding=chunked", "Trailer=X-T", "A=x", "B=1|2", "Accept-Encoding=gzip"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
