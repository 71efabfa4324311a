package probe

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/http2"
)

// A replay is a connection whose peer has said all that it will say.
type replay struct {
	net.Conn // nil: only the methods below are called
	r        io.Reader
	read     int
}

func (c *replay) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += n
	return n, err
}
func (c *replay) Write(p []byte) (int, error)      { return len(p), nil }
func (c *replay) SetDeadline(time.Time) error      { return nil }
func (c *replay) SetWriteDeadline(time.Time) error { return nil }
func (c *replay) Close() error                     { return nil }

func replayed(text []byte) (*link, *replay) {
	c := &replay{r: bytes.NewReader(text)}
	l := &link{wire: &wire{Conn: c}, linger: time.Second}
	l.rw = l.wire
	l.br = bufio.NewReader(metered{l})
	return l, c
}

// whatever asks twice and watches: it has to end, and to have a word for how.
func whatever(t *testing.T, s session) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		if a, err := s.ask(ctx); err != nil {
			break
		} else if a.status < 200 {
			t.Errorf("an answer with status %d", a.status)
		}
	}
	if e := s.watch(ctx, time.Second); !e.ended() {
		t.Errorf("the end was not seen: %+v", e)
	}
}

func FuzzH1(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 204 No Content\r\nKeep-Alive: timeout=1\r\n\r\n")
	f.Add("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
	f.Add("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nsurplus")
	p, err := New(Options{URL: "http://h/"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, _ := replayed([]byte(text))
		s, err := newH1(l, p.req, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		whatever(t, s)
	})
}

func FuzzH2(f *testing.F) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	_ = fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7})
	f.Add(bytes.Clone(b.Bytes()))
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
	_ = fr.WriteData(1, true, []byte("hi"))
	_ = fr.WritePing(false, [8]byte{1})
	_ = fr.WriteGoAway(anyStream, http2.ErrCodeNo, []byte("bye"))
	_ = fr.WriteGoAway(1, http2.ErrCodeNo, nil)
	f.Add(bytes.Clone(b.Bytes()))
	p, err := New(Options{URL: "http://h/"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, _ := replayed(text)
		s, err := newH2(t.Context(), l, p.req, time.Second)
		if err == nil {
			whatever(t, s)
		}
	})
}

func FuzzHint(f *testing.F) {
	f.Add("timeout=5, max=100")
	f.Add("max=-1, timeout=1e12,MAX = 7")
	f.Add("timeout=\x00")
	f.Fuzz(func(t *testing.T, text string) {
		h := hintOf(text)
		if (h == nil) != (text == "") {
			t.Fatalf("%q: %+v", text, h)
		}
		if h == nil {
			return
		}
		if h.Max < 0 || h.Timeout < 0 || h.Timeout.Duration() > 24*time.Hour {
			t.Errorf("%q: %+v", text, h)
		}
		if len(h.Text) > 3*80 || strings.ContainsFunc(h.Text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q: %q isn't fit for a terminal", text, h.Text)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	f.Add("A: b")
	f.Add(":")
	f.Fuzz(func(t *testing.T, text string) {
		name, value, err := ParseHeader(text)
		if err == nil && (name == "" || !strings.Contains(text, name) || !strings.Contains(text, value)) {
			t.Errorf("%q: %q, %q", text, name, value)
		}
	})
}
