package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
)

func TestInterimAnswersPass(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
	})
	r := start(t, "upstream="+up.URL)
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		hints = append(hints, fmt.Sprint(code, h.Get("Link")))
		return nil
	}})
	req, _ := http.NewRequestWithContext(ctx, "GET", r.url, nil)
	resp, err := newClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if fmt.Sprint(hints) != "[103</a.css>]" {
		t.Errorf("hints %v", hints)
	}
}

// TestOptionsOfTheServer passes "OPTIONS *" on.
func TestOptionsOfTheServer(t *testing.T) {
	s := &http.Server{DisableGeneralOptionsHandler: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RequestURI)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer s.Close()
	r := start(t, "upstream=http://"+l.Addr().String())
	c, err := net.Dial("tcp", r.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "*" {
		t.Errorf("the upstream was asked for %q", b)
	}
}

// TestNothingIsMadeUp checks that a request gets no field that its client hasn't sent, and an answer none
// that says what it is.
func TestNothingIsMadeUp(t *testing.T) {
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		for k := range r.Header {
			if !strings.HasPrefix(k, "X-Forwarded-") && k != "Via" && k != "Connection" {
				t.Errorf("the upstream got %s: %q", k, r.Header[k])
			}
		}
		w.Header()["Content-Type"] = nil
		w.Header()["Date"] = nil
		if r.URL.Path == "/hints" {
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = io.WriteString(w, "<html>")
	})
	r := start(t, "upstream="+up.URL)
	for _, path := range []string{"/", "/hints"} {
		resp, body := r.do("GET", path, nil, "User-Agent", "")
		if _, ok := resp.Header["Content-Type"]; ok || body != "<html>" {
			t.Errorf("the answer is %q with %v", body, resp.Header)
		}
	}
	resp, _ := r.do("HEAD", "/", nil, "User-Agent", "")
	if resp.ContentLength != 6 {
		t.Errorf("HEAD says a length of %d", resp.ContentLength)
	}
}
