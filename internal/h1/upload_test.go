package h1

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// pieces is a reader that returns one piece at a time; an empty one is a Read of 0
// bytes. The last comes alone or with io.EOF.
type pieces struct {
	p      []string
	eofNow bool
}

func (r *pieces) Read(p []byte) (int, error) {
	if len(r.p) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.p[0])
	r.p = r.p[1:]
	if len(r.p) == 0 && r.eofNow {
		return n, io.EOF
	}
	return n, nil
}

func TestEachReadIsAChunk(t *testing.T) {
	for _, eofNow := range []bool{false, true} {
		r := newRig(t, Options{})
		b := newBody(t, "")
		b.r = &pieces{[]string{"hello", "", "worlds!", strings.Repeat("x", 300)}, eofNow}
		a := r.start(post(t, b))
		r.hears(postHead + chunkOf("hello") + chunkOf("worlds!") + chunkOf(strings.Repeat("x", 300)) + "0\r\n\r\n")
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		b.wantClosed()
		if f := a.x.Facts(); !f.AllSent || !f.BodyTouched || f.BodyBusy {
			t.Errorf("facts %+v", f)
		}
		r.serves()
	}
}

func TestHeadGoesOutBeforeTheBodyIsRead(t *testing.T) {
	r := newRig(t, Options{})
	pr, pw := io.Pipe()
	a := r.start(post(t, pr))
	r.hears(postHead)
	for _, s := range []string{"one", "two"} {
		io.WriteString(pw, s)
		r.hears(chunkOf(s)) // at once, while the body is open
	}
	r.says(ok5) // the answer comes first; the caller may close its pipe by it
	a.answer(200)
	a.reads("hello")
	a.open()
	pw.Close()
	r.hears("0\r\n\r\n")
	a.wantEnd(wire.EndKept)
	r.serves()
}

func sizedPost(t *testing.T, n int64, b io.Reader) wire.Request {
	req := post(t, b)
	req.ContentLength = n
	return req
}

func TestSizedBody(t *testing.T) {
	for _, eofNow := range []bool{false, true} {
		r := newRig(t, Options{})
		b := newBody(t, "")
		b.r = &pieces{[]string{"ab", "", "cde"}, eofNow}
		a := r.start(sizedPost(t, 5, b))
		if head := r.hearsHead(); !strings.Contains(head, "Content-Length: 5\r\n") {
			t.Errorf("head %q", head)
		}
		r.hears("abcde")
		r.says(ok0)
		a.answer(200)
		a.wantEnd(wire.EndKept)
		a.x.Close()
		<-a.x.up.done
		b.wantClosed()
		r.serves()
	}
}

func TestRequestTrailers(t *testing.T) {
	r := newRig(t, Options{})
	req := post(t, nil)
	req.Trailer = http.Header{"X-Sum": nil}
	b := newBody(t, "")
	b.r = readerFunc(func([]byte) (int, error) {
		req.Trailer.Set("X-Sum", "42") // as late as may be
		return 0, io.EOF
	})
	req.Body = b
	a := r.start(req)
	r.hears(strings.Replace(postHead, "\r\n\r\n", "\r\nTrailer: X-Sum\r\n\r\n", 1) + "0\r\nX-Sum: 42\r\n\r\n")
	r.says(ok0)
	a.answer(200)
	a.wantEnd(wire.EndKept)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLargeBodies(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	for name, req := range map[string]wire.Request{
		"sized":         sizedPost(t, int64(len(big)), bytes.NewReader(big)),
		"in memory":     {Request: request(t, "POST", bytes.NewReader(big)), Small: big},
		"with stalls":   sizedPost(t, int64(len(big)), bytes.NewReader(big)),
		"large buffers": sizedPost(t, int64(len(big)), bytes.NewReader(big)),
	} {
		t.Run(name, func(t *testing.T) {
			opt := Options{}
			switch name {
			case "with stalls":
				opt.WriteStall = time.Hour
			case "large buffers":
				opt.WriteBufferSize, opt.ReadBufferSize = 1<<18, 1<<17
			}
			r := newRig(t, opt)
			a := r.start(req)
			head := r.hearsHead()
			r.hears(string(big))
			r.says(ok0)
			a.answer(200)
			a.wantEnd(wire.EndKept)
			if f := a.x.Facts(); f.Sent != int64(len(head)+len(big)) || f.BodyTouched != (name != "in memory") {
				t.Errorf("facts %+v", f)
			}
			a.x.Close()
		})
	}
}

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		b := newBody(t, "")
		req := wire.Request{Request: request(t, "GET", b)}
		a := r.start(req)
		r.hears(getHead) // an empty body isn't sent
		b.wantClosed()
		r.says(ok5)
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)

		b = newBody(t, "query")
		a = r.start(wire.Request{Request: request(t, "DELETE", b)})
		r.hears(strings.Replace(postHead, "POST", "DELETE", 1) + chunkOf("query") + "0\r\n\r\n")
		r.says(ok0)
		a.answer(200)
		a.wantEnd(wire.EndKept)
		b.wantClosed()

		pr, pw := io.Pipe()
		start := time.Now()
		a = r.start(wire.Request{Request: request(t, "GET", pr)})
		r.hears(strings.Replace(postHead, "POST", "GET", 1))
		elapsed(t, start, probeWait)
		pw.Write([]byte("late"))
		pw.Close()
		r.hears(chunkOf("late") + "0\r\n\r\n")
		r.says(ok0)
		a.answer(200)
		a.wantEnd(wire.EndKept)
	})
}

func TestProbeThatFails(t *testing.T) {
	r := newRig(t, Options{})
	b := &failing{body{t: t, r: strings.NewReader("")}, func() (int, error) { return 0, errOwn }}
	a := r.start(wire.Request{Request: request(t, "GET", b)})
	a.failsWith(errOwn)
	a.wantFacts(wire.Facts{BodyTouched: true})
	r.hearsEnd()
	b.wantClosed()
}

func TestConnectStreamsBothWays(t *testing.T) {
	r := newRig(t, Options{})
	pr, pw := io.Pipe()
	req := request(t, "CONNECT", pr)
	req.URL.Path = ""
	a := r.start(wire.Request{Request: req})
	r.hears("CONNECT example.com HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Go-http-client/1.1\r\n\r\n")
	r.says("HTTP/1.1 200 OK\r\n\r\n")
	a.answer(200)
	io.WriteString(pw, "ping")
	r.hears("ping")
	r.says("pong")
	p := make([]byte, 4)
	if _, err := io.ReadFull(a.resp.Body, p); string(p) != "pong" {
		t.Errorf("read %q, %v", p, err)
	}
	pw.Close()
	a.resp.Body.Close()
	a.wantEnd(wire.EndNotKept)
	r.wantClosed()
}
