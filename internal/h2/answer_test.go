package h2

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// Answers that are no HTTP, or too much of it: the stream fails, the connection serves on.
func TestMalformedAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		fields []string
		end    bool
		data   string
	}{
		"no status":            {fields: []string{"a", "b"}, end: true},
		"status of two digits": {fields: []string{":status", "20"}, end: true},
		"no digits":            {fields: []string{":status", "abc"}, end: true},
		"negative":             {fields: []string{":status", "-20"}, end: true},
		"too small":            {fields: []string{":status", "099"}, end: true},
		"two of them":          {fields: []string{":status", "200", ":status", "200"}, end: true},
		"behind a field":       {fields: []string{"a", "b", ":status", "200"}, end: true},
		"another pseudo field": {fields: []string{":status", "200", ":path", "/"}, end: true},
		"upper case":           {fields: []string{":status", "200", "Name", "x"}, end: true},
		"no token":             {fields: []string{":status", "200", "na me", "x"}, end: true},
		"empty name":           {fields: []string{":status", "200", "", "x"}, end: true},
		"newline":              {fields: []string{":status", "200", "name", "x\r\ny"}, end: true},
		"101":                  {fields: []string{":status", "101"}},
		"1xx that ends":        {fields: []string{":status", "103"}, end: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				a := r.start(get(t))
				r.hearsHeaders(1, true)
				r.says(1, tt.end, tt.fields...)
				se, ok := a.fails().(http2.StreamError)
				if !ok || se.Code != http2.ErrCodeProtocol || se.Cause == nil {
					t.Errorf("failed with %v", a.err)
				}
				r.hearsReset(1, http2.ErrCodeProtocol)
				a.wantEnd(wire.EndError)
				b := r.start(get(t))
				r.hearsHeaders(3, true)
				r.ok(3, "fine")
				b.answer(200)
				b.reads("fine")
			})
		})
	}
}

func TestContentLength(t *testing.T) {
	for name, tt := range map[string]struct {
		fields []string
		data   string
		length int64
		want   string
		err    error
	}{
		"none":          {nil, "hello", -1, "hello", nil},
		"right":         {[]string{"content-length", "5"}, "hello", 5, "hello", nil},
		"twice":         {[]string{"content-length", "5", "content-length", "5"}, "hello", 5, "hello", nil},
		"contradiction": {[]string{"content-length", "5", "content-length", "6"}, "hello", -1, "hello", nil},
		"no number":     {[]string{"content-length", "+5"}, "hello", -1, "hello", nil},
		"too much":      {[]string{"content-length", "3"}, "hello", 3, "hel", errLong},
		"too little":    {[]string{"content-length", "9"}, "hello", 9, "hello", io.ErrUnexpectedEOF},
		"nothing":       {[]string{"content-length", "9"}, "", 9, "", io.ErrUnexpectedEOF},
		"empty":         {nil, "", 0, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				a := r.start(get(t))
				r.hearsHeaders(1, true)
				r.says(1, tt.data == "", append([]string{":status", "200"}, tt.fields...)...)
				if tt.data != "" {
					r.fr.WriteData(1, true, []byte(tt.data))
				}
				resp := a.answer(200)
				got, err := io.ReadAll(resp.Body)
				se, _ := err.(http2.StreamError)
				if string(got) != tt.want || !errors.Is(err, tt.err) && se.Cause != tt.err || tt.err == nil && err != nil {
					t.Errorf("read %q, %v; want %q, %v", got, err, tt.want, tt.err)
				}
				if resp.ContentLength != tt.length {
					t.Errorf("ContentLength %d, want %d", resp.ContentLength, tt.length)
				}
				<-a.ends
			})
		})
	}
}

func TestHead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		req := get(t)
		req.Method = "HEAD"
		a := r.start(req)
		r.hearsHeaders(1, true)
		r.says(1, true, ":status", "200", "content-length", "5")
		if resp := a.answer(200); resp.Body != http.NoBody || resp.ContentLength != 5 {
			t.Errorf("answer %+v", resp)
		}
		a.wantEnd(wire.EndKept)
		b := r.start(req)
		r.hearsHeaders(3, true)
		r.says(3, false, ":status", "200", "content-length", "5")
		b.answer(200)
		b.open()
		r.fr.WriteData(3, true, []byte("hello"))
		r.hearsReset(3, http2.ErrCodeProtocol)
		b.wantEnd(wire.EndError)
	})
}

func TestTrailers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200", "trailer", "x-sum, x-other")
		r.fr.WriteData(1, false, []byte("hello"))
		r.says(1, true, "x-sum", "1", "x-extra", "2")
		resp := a.answer(200)
		if v, ok := resp.Trailer["X-Sum"]; !ok || v != nil {
			t.Errorf("trailer before the body: %v", resp.Trailer)
		}
		a.reads("hello")
		if resp.Trailer.Get("X-Sum") != "1" || resp.Trailer.Get("X-Extra") != "2" || resp.Header.Get("Trailer") != "" {
			t.Errorf("trailer %v", resp.Trailer)
		}
		a.wantEnd(wire.EndKept)
		for id, f := range []func(id uint32){
			func(id uint32) { r.says(id, true, ":status", "200") },
			func(id uint32) { r.says(id, false, "x-sum", "1") },
		} {
			id := uint32(3 + 2*id)
			a := r.start(get(t))
			r.hearsHeaders(id, true)
			r.says(id, false, ":status", "200")
			f(id)
			a.answer(200)
			if _, err := io.ReadAll(a.resp.Body); err == nil {
				t.Error("bad trailers are taken")
			}
			r.hearsReset(id, http2.ErrCodeProtocol)
		}
	})
}

func TestGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, strings.Repeat("hello ", 1000))
	w.Flush()
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		req := get(t)
		req.Gzip = true
		a := r.start(req)
		if h := r.hearsHeaders(1, true); h["accept-encoding"] != "gzip" {
			t.Errorf("headers %v", h)
		}
		r.says(1, false, ":status", "200", "content-encoding", "gzip", "content-length", "1000")
		r.fr.WriteData(1, false, z.Bytes())
		resp := a.answer(200)
		if !resp.Uncompressed || resp.ContentLength != -1 || len(resp.Header) != 0 {
			t.Errorf("answer %+v", resp)
		}
		p := make([]byte, 3)
		if _, err := io.ReadFull(resp.Body, p); string(p) != "hel" {
			t.Errorf("read %q, %v", p, err)
		}
		resp.Body.Close()
		r.hearsReset(1, http2.ErrCodeCancel)
		if _, err := resp.Body.Read(p); err != http.ErrBodyReadAfterClose {
			t.Errorf("Read after Close: %v", err)
		}
	})
}

func TestCloseEarly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{ConnWindow: 1 << 20})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		r.fr.WriteData(1, false, make([]byte, 16<<10))
		a.answer(200)
		synctest.Wait()
		done := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, a.resp.Body)
			done <- err
		}()
		synctest.Wait()
		a.resp.Body.Close()
		if err := <-done; err != http.ErrBodyReadAfterClose {
			t.Errorf("the Read that waited: %v", err)
		}
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndUnread)
		r.fr.WriteData(1, false, make([]byte, 16<<10)) // was under way
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		r.ok(3, "")
		b.answer(200)
		if due := r.c.inflow.due + r.c.inflow.avail; due != 1<<20 {
			t.Errorf("%d bytes of the connection's window are left", due)
		}
	})
}

// Both windows come back as the body is read, and padding at once.
func TestCredit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{StreamWindow: 40000, ConnWindow: 100000})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		r.fr.WriteDataPadded(1, false, make([]byte, 10000), make([]byte, 200))
		r.fr.WriteData(1, false, make([]byte, 15000))
		a.answer(200)
		r.hearsNothing()
		io.ReadFull(a.resp.Body, make([]byte, 10000))
		r.hearsNothing()
		io.ReadFull(a.resp.Body, make([]byte, 15000))
		r.hearsWindow(0, 25201)
		r.hearsWindow(1, 25201)
		r.fr.WriteData(1, false, make([]byte, 10000))
		r.fr.WriteData(1, false, make([]byte, 16000))
		r.fr.WriteData(1, false, make([]byte, 14001)) // one too many
		synctest.Wait()
		if _, err := io.ReadAll(a.resp.Body); err == nil {
			t.Error("the window isn't heeded")
		}
		r.hearsReset(1, http2.ErrCodeFlowControl)
	})
}

// Without a window for the connection, unread bodies hold nobody up.
func TestUnreadBodiesStarveNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{StreamWindow: 1 << 20})
		for i := range 20 {
			id := uint32(1 + 2*i)
			a := r.start(get(t))
			r.hearsHeaders(id, true)
			r.says(id, false, ":status", "200")
			for range 64 {
				r.fr.WriteData(id, false, make([]byte, 16<<10))
			}
			a.answer(200)
		}
		synctest.Wait()
		if left := r.c.inflow.avail + r.c.inflow.due; left != freeWindow {
			t.Errorf("%d bytes are left", left)
		}
	})
}

func TestConnectionWindowIsHeeded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{ConnWindow: 70000})
		for _, id := range []uint32{1, 3} {
			a := r.start(get(t))
			r.hearsHeaders(id, true)
			r.says(id, false, ":status", "200")
			for range 40 {
				r.fr.WriteData(id, false, make([]byte, 1000))
			}
			a.answer(200)
		}
		r.hearsGoAway(http2.ErrCodeFlowControl)
		r.hearsEnd()
	})
}
