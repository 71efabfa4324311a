package h1

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipGet(t *testing.T) wire.Request { r := get(t); r.Gzip = true; return r }

func TestGzip(t *testing.T) {
	text := strings.Repeat("hello, world; ", 10000)
	z := zipped(t, text)
	r := newRig(t, Options{})
	for _, head := range []string{
		fmt.Sprintf("Content-Encoding: GZip\r\nContent-Length: %d\r\n\r\n", len(z)),
		fmt.Sprintf("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", len(z)),
	} {
		a := r.start(gzipGet(t))
		if h := r.hearsHead(); !strings.Contains(h, "\r\nAccept-Encoding: gzip\r\n") {
			t.Errorf("head %q", h)
		}
		tail := ""
		if strings.Contains(head, "chunked") {
			tail = "\r\n0\r\n\r\n"
		}
		r.says("HTTP/1.1 200 OK\r\n" + head)
		a.answer(200) // before the body has come
		if res := a.resp; !res.Uncompressed || res.ContentLength != -1 || res.Header.Get("Content-Encoding") != "" || res.Header.Get("Content-Length") != "" {
			t.Errorf("answer %+v", res)
		}
		r.says(z + tail)
		a.reads(text)
		a.wantEnd(wire.EndKept)
		a.reads("")
		a.resp.Body.Close()
	}
}

func TestGzipUnasked(t *testing.T) {
	z := zipped(t, "hello")
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.says(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(z), z))
	if a.answer(200).Uncompressed {
		t.Error("decoded what the caller asked for itself")
	}
	a.reads(z)
}

// TestGzipPendingAfterTheWire: the connection goes back as soon as the last byte was
// read, though most of the text is still to be decoded.
func TestGzipPendingAfterTheWire(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	z := zipped(t, text)
	r := newRig(t, Options{})
	a := r.start(gzipGet(t))
	r.hearsHead()
	r.says(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(z), z))
	a.answer(200)
	if _, err := a.resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	a.wantEnd(wire.EndKept)
	r.serves()
	a.reads(text[10:])
}

func TestGzipBroken(t *testing.T) {
	z := zipped(t, "hello")
	for _, bad := range []string{"not gzip at all", z[:len(z)-8] + "crc_" + z[len(z)-4:], z[:len(z)-3]} {
		r := newRig(t, Options{})
		a := r.start(gzipGet(t))
		r.hearsHead()
		r.says(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(bad), bad))
		a.answer(200)
		_, err := io.ReadAll(a.resp.Body)
		if err == nil {
			t.Fatalf("%q decoded", bad)
		}
		if _, again := a.resp.Body.Read(make([]byte, 1)); again != err {
			t.Errorf("second Read: %v, want %v", again, err)
		}
		a.resp.Body.Close()
		a.wantEnd(wire.EndKept) // the framing was in order
		if _, err := a.resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Errorf("Read after Close: %v", err)
		}
		r.serves()
	}
}

func TestGzipEmptyAndCut(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(gzipGet(t))
	r.hearsHead()
	r.says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	a.answer(200)
	a.reads("")
	a.wantEnd(wire.EndKept)

	a = r.start(gzipGet(t))
	r.hearsHead()
	r.says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" + zipped(t, "hello"))
	r.peer.Close()
	a.answer(200)
	b, err := io.ReadAll(a.resp.Body)
	if err != io.ErrUnexpectedEOF {
		t.Errorf("read %q, %v; want an unexpected EOF", b, err)
	}
	a.wantEnd(wire.EndError)
}
