package h2

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// What a request's parts become. "" means that the field isn't there.
func TestRequestFields(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r *wire.Request)
		want   map[string]string
	}{
		"plain": {func(r *wire.Request) {}, map[string]string{":method": "GET", ":scheme": "http", ":authority": "example.com",
			":path": "/p", "user-agent": defaultUserAgent, "content-length": "", "accept-encoding": "", "host": ""}},
		"no method":       {func(r *wire.Request) { r.Method = "" }, map[string]string{":method": "GET"}},
		"host":            {func(r *wire.Request) { r.Host = "other.example:81" }, map[string]string{":authority": "other.example:81"}},
		"international":   {func(r *wire.Request) { r.Host = "b\u00fccher.example" }, map[string]string{":authority": "xn--bcher-kva.example"}},
		"query":           {func(r *wire.Request) { r.URL.RawQuery = "a=b" }, map[string]string{":path": "/p?a=b"}},
		"no path":         {func(r *wire.Request) { r.URL.Path = "" }, map[string]string{":path": "/"}},
		"star":            {func(r *wire.Request) { r.Method, r.URL.Path = "OPTIONS", "*" }, map[string]string{":path": "*"}},
		"opaque":          {func(r *wire.Request) { r.URL.Opaque = "//example.com/x" }, map[string]string{":path": "/x"}},
		"gzip":            {func(r *wire.Request) { r.Gzip = true }, map[string]string{"accept-encoding": "gzip"}},
		"agent":           {func(r *wire.Request) { r.Header.Set("User-Agent", "me") }, map[string]string{"user-agent": "me"}},
		"two agents":      {func(r *wire.Request) { r.Header["User-Agent"] = []string{"me", "you"} }, map[string]string{"user-agent": "me"}},
		"no agent":        {func(r *wire.Request) { r.Header["User-Agent"] = nil }, map[string]string{"user-agent": ""}},
		"empty agent":     {func(r *wire.Request) { r.Header.Set("User-Agent", "") }, map[string]string{"user-agent": ""}},
		"cookies":         {func(r *wire.Request) { r.Header["Cookie"] = []string{"a=1; b=2;c=3", "d=4"} }, map[string]string{"cookie": "a=1|b=2|c=3|d=4"}},
		"te":              {func(r *wire.Request) { r.Header.Set("Te", "gzip, trailers") }, map[string]string{"te": "trailers"}},
		"other te":        {func(r *wire.Request) { r.Header.Set("Te", "gzip") }, map[string]string{"te": ""}},
		"extra":           {func(r *wire.Request) { r.Extra = http.Header{"Proxy-Authorization": {"x"}} }, map[string]string{"proxy-authorization": "x"}},
		"a header's host": {func(r *wire.Request) { r.Header.Set("Host", "evil") }, map[string]string{":authority": "example.com", "host": ""}},
		"connection-specific": {func(r *wire.Request) {
			for _, k := range []string{"Keep-Alive", "Proxy-Connection"} {
				r.Header.Set(k, "x")
			}
			r.Header.Set("Connection", "keep-alive")
			r.Header.Set("Transfer-Encoding", "chunked")
			r.Header.Set("Upgrade", "chunked")
			r.Header.Set("Content-Length", "99")
		}, map[string]string{"keep-alive": "", "proxy-connection": "", "connection": "", "transfer-encoding": "", "upgrade": "", "content-length": ""}},
		"PUT of nothing":    {func(r *wire.Request) { r.Method = "PUT" }, map[string]string{"content-length": "0"}},
		"DELETE of nothing": {func(r *wire.Request) { r.Method = "DELETE" }, map[string]string{"content-length": ""}},
		"CONNECT":           {func(r *wire.Request) { r.Method, r.Host = "CONNECT", "h:1" }, map[string]string{":path": "", ":scheme": "", ":authority": "h:1"}},
		"many values":       {func(r *wire.Request) { r.Header["X-A"] = []string{"1", "2"} }, map[string]string{"x-a": "1|2"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				req := get(t)
				tt.change(&req)
				r.start(req)
				h := r.hearsHeaders(1, true)
				for k, v := range tt.want {
					if h[k] != v {
						t.Errorf("%s is %q, want %q", k, h[k], v)
					}
				}
			})
		})
	}
}

// What can't be said in HTTP/2 isn't sent, and the connection is as it was.
func TestRequestsThatCantBeSent(t *testing.T) {
	for name, change := range map[string]func(r *wire.Request){
		"no URL":            func(r *wire.Request) { r.URL = nil },
		"method":            func(r *wire.Request) { r.Method = "a b" },
		"host":              func(r *wire.Request) { r.Host = "a b" },
		"path":              func(r *wire.Request) { r.URL = &url.URL{Scheme: "http", Host: "x", Opaque: "nonsense"} },
		"upgrade":           func(r *wire.Request) { r.Header.Set("Upgrade", "websocket") },
		"connection":        func(r *wire.Request) { r.Header.Set("Connection", "upgrade") },
		"connection twice":  func(r *wire.Request) { r.Header["Connection"] = []string{"close", "keep-alive"} },
		"transfer-encoding": func(r *wire.Request) { r.Header.Set("Transfer-Encoding", "gzip") },
		"field name":        func(r *wire.Request) { r.Header["a b"] = []string{"x"} },
		"field value":       func(r *wire.Request) { r.Header.Set("Authorization", "secret\nsecret") },
		"extra value":       func(r *wire.Request) { r.Extra = http.Header{"Proxy-Authorization": {"secret\n"}} },
		"trailer":           func(r *wire.Request) { r.Trailer = http.Header{"Content-Length": nil} },
		"trailer name":      func(r *wire.Request) { r.Trailer = http.Header{"a b": nil} },
		":protocol":         func(r *wire.Request) { r.Header[":protocol"] = []string{"websocket"} },
		"length of nothing": func(r *wire.Request) { r.ContentLength = 5 },
		"longer than told":  func(r *wire.Request) { r.Header.Set("X-Long", strings.Repeat("x", 2000)) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1000}, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
				req := get(t)
				change(&req)
				a := r.start(req)
				err := a.fails()
				if _, ok := err.(*wire.RequestError); !ok {
					t.Errorf("failed with %T %v", err, err)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("it tells %q", err)
				}
				a.wantFacts(wire.Facts{})
				a.wantEnd(wire.EndError)
				r.hearsNothing()
				b := r.start(get(t))
				r.hearsHeaders(1, true)
				r.ok(1, "")
				b.answer(200)
			})
		})
	}
}

func TestExtendedConnect(t *testing.T) {
	connect := func(t *testing.T, body io.Reader) wire.Request {
		req := post(t, body)
		req.Method = "CONNECT"
		req.Header[":protocol"] = []string{"websocket"}
		return req
	}
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.hearsPreface()
		pr, pw := io.Pipe()
		a := r.start(connect(t, pr))
		r.hearsNothing() // the peer hasn't said that it takes this
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
		r.hearsSettingsAck()
		if h := r.hearsHeaders(1, false); h[":protocol"] != "websocket" || h[":path"] != "/p" || h[":scheme"] != "http" {
			t.Errorf("headers %v", h)
		}
		r.says(1, false, ":status", "200")
		a.answer(200)
		io.WriteString(pw, "ping")
		r.hearsData(1, "ping", false)
		r.fr.WriteData(1, false, []byte("pong"))
		p := make([]byte, 10)
		if n, err := a.resp.Body.Read(p); string(p[:n]) != "pong" {
			t.Errorf("read %q, %v", p[:n], err)
		}
		a.resp.Body.Close()
		r.hearsReset(1, http2.ErrCodeCancel)
		if _, err := pw.Write(nil); err != io.ErrClosedPipe {
			t.Errorf("the request's body: %v", err)
		}
	})
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		body := newBody(t, "x")
		a := r.start(connect(t, body))
		if err := a.fails(); !errors.Is(err, errExtendedConnect) {
			t.Errorf("failed with %v", err)
		}
		body.wantClosed()
		r.hearsNothing()
	})
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{})
		a := r.start(connect(t, newBody(t, "x")))
		r.c.Kill(errTest)
		a.failsWith(errTest)
	})
}

func TestTraceHooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{ContinueTimeout: 1e9})
		var got []string
		note := func(s string) { got = append(got, s) }
		trace := &httptrace.ClientTrace{
			WroteHeaderField: func(k string, vv []string) {
				if k == ":method" {
					note(k + "=" + vv[0])
				}
			},
			WroteHeaders:         func() { note("WroteHeaders") },
			Wait100Continue:      func() { note("Wait100Continue") },
			Got100Continue:       func() { note("Got100Continue") },
			GotFirstResponseByte: func() { note("GotFirstResponseByte") },
			WroteRequest:         func(i httptrace.WroteRequestInfo) { note("WroteRequest"); _ = i.Err },
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				note("Got1xxResponse " + h.Get("Link"))
				return nil
			},
		}
		req := expecting(t, nil, "hello")
		req.Request = req.WithContext(httptrace.WithClientTrace(t.Context(), trace))
		a := r.start(req)
		r.hearsHeaders(1, false)
		r.says(1, false, ":status", "103", "link", "x")
		r.says(1, false, ":status", "100")
		r.hearsData(1, "hello", true)
		r.ok(1, "")
		a.answer(200)
		synctest.Wait()
		want := ":method=POST, WroteHeaders, Wait100Continue, GotFirstResponseByte, Got1xxResponse x, Got100Continue, Got1xxResponse , WroteRequest"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("hooks\n got %s\nwant %s", s, want)
		}
	})
}

func TestHookEndsTheExchange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { return errTest }}
		req := get(t)
		req.Request = req.WithContext(httptrace.WithClientTrace(t.Context(), trace))
		a := r.start(req)
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "103")
		if _, ok := errors.AsType[*wire.HookError](a.fails()); !ok {
			t.Errorf("failed with %v", a.err)
		}
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndError)
	})
}
