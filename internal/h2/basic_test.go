package h2

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

func TestGet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		h := r.hearsHeaders(1, true)
		for k, v := range map[string]string{":method": "GET", ":path": "/p", ":scheme": "http", ":authority": "example.com", "user-agent": "Go-http-client/2.0"} {
			if h[k] != v {
				t.Errorf("%s is %q, want %q", k, h[k], v)
			}
		}
		r.says(1, false, ":status", "200", "x-name", "one", "x-name", "two", "content-length", "5")
		r.fr.WriteData(1, true, []byte("hello"))
		resp := a.answer(200)
		if got := strings.Join(resp.Header["X-Name"], ","); got != "one,two" || resp.ContentLength != 5 || resp.Status != "200 OK" || resp.Proto != "HTTP/2.0" {
			t.Errorf("answer %+v", resp)
		}
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		resp.Body.Close()
		a.wantFacts(wire.Facts{Sent: a.x.sent, AllSent: true, Answered: true})
		if a.x.sent == 0 {
			t.Error("no byte was sent")
		}
		r.hearsNothing()
	})
}

func TestPostSmall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(small(t, "hello"))
		if h := r.hearsHeaders(1, false); h["content-length"] != "5" {
			t.Errorf("headers %v", h)
		}
		r.hearsData(1, "hello", true)
		r.ok(1, "thanks")
		a.answer(200)
		a.reads("thanks")
		a.wantEnd(wire.EndKept)
	})
}

func TestPostStreamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		pr, pw := io.Pipe()
		body := &testBody{t: t, r: pr}
		a := r.start(post(t, body))
		r.hearsHeaders(1, false)
		io.WriteString(pw, "one")
		r.hearsData(1, "one", false)
		io.WriteString(pw, "two")
		r.hearsData(1, "two", false)
		r.hearsNothing()
		pw.Close()
		r.hearsData(1, "", true)
		body.wantClosed()
		r.ok(1, "")
		a.answer(200)
		a.wantEnd(wire.EndKept)
	})
}

func TestFlowControlOfUploads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 4})
		a := r.start(small(t, "0123456789"))
		synctest.Wait()
		b := r.start(small(t, "abcdefghij"))
		synctest.Wait()
		r.hearsHeaders(1, false)
		r.hearsData(1, "0123", false)
		r.hearsHeaders(3, false)
		r.hearsData(3, "abcd", false)
		r.hearsNothing()
		r.fr.WriteWindowUpdate(3, 3)
		r.hearsData(3, "efg", false)
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2}) // now -2 and -2
		r.hearsSettingsAck()
		r.fr.WriteWindowUpdate(1, 2)
		r.hearsNothing()
		r.fr.WriteWindowUpdate(1, 100)
		r.hearsData(1, "456789", true)
		r.ok(1, "")
		a.answer(200)
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100})
		f := r.hears()
		g := r.hears()
		if _, ok := f.(*http2.SettingsFrame); !ok {
			f, g = g, f
		}
		if d, ok := g.(*http2.DataFrame); !ok || !d.StreamEnded() {
			t.Fatalf("got %v and %v", f, g)
		}
		r.ok(3, "")
		b.answer(200)
	})
}
