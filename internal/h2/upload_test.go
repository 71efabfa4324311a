package h2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// A body that fails, or isn't as long as it said, never ends with END_STREAM. The peer is
// told, and the connection serves on.
func TestBodiesThatFail(t *testing.T) {
	for name, tt := range map[string]struct {
		body   io.Reader
		length int64
		data   string // what is sent of it
		want   error
	}{
		"error":           {io.MultiReader(strings.NewReader("abc"), errReader{errTest}), -1, "abc", errTest},
		"error at once":   {errReader{errTest}, -1, "", errTest},
		"too short":       {strings.NewReader("abc"), 5, "abc", nil},
		"too long":        {strings.NewReader("abcdef"), 5, "", nil},
		"late too long":   {io.MultiReader(strings.NewReader("abcde"), strings.NewReader("f")), 5, "abcde", nil},
		"panic":           {panicReader{errTest}, -1, "", errTest},
		"panic with text": {panicReader{"oh"}, -1, "", nil},
		"goexit":          {panicReader{nil}, -1, "", nil},
		"nonsense":        {badReader{}, -1, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				body := &testBody{t: t, r: tt.body}
				req := post(t, body)
				req.ContentLength = tt.length
				a := r.start(req)
				r.hearsHeaders(1, false)
				if tt.data != "" {
					r.hearsData(1, tt.data, false)
				}
				r.hearsReset(1, http2.ErrCodeCancel)
				err := a.fails()
				if _, ok := errors.AsType[*wire.BodyError](err); !ok || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("failed with %T %v", err, err)
				}
				a.wantEnd(wire.EndError)
				body.wantClosed()
				if f := a.x.Facts(); !f.BodyTouched || f.AllSent {
					t.Errorf("facts %+v", f)
				}
				b := r.start(get(t))
				r.hearsHeaders(3, true)
				r.ok(3, "")
				b.answer(200)
			})
		})
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

type panicReader struct{ v any }

func (r panicReader) Read([]byte) (int, error) {
	if r.v == nil {
		runtime.Goexit()
	}
	panic(r.v)
}

type badReader struct{}

func (badReader) Read(p []byte) (int, error) { return len(p) + 1, nil }

// The answer counts, though the upload goes on; and the upload goes on.
func TestFullDuplex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		pr, pw := io.Pipe()
		a := r.start(post(t, pr))
		r.hearsHeaders(1, false)
		r.says(1, false, ":status", "200")
		resp := a.answer(200)
		for _, s := range []string{"one", "two"} {
			io.WriteString(pw, s)
			r.hearsData(1, s, false)
			r.fr.WriteData(1, false, []byte(s))
			p := make([]byte, 10)
			if n, err := resp.Body.Read(p); string(p[:n]) != s || err != nil {
				t.Errorf("read %q, %v", p[:n], err)
			}
		}
		r.fr.WriteData(1, true, nil)
		a.reads("")
		a.open()
		io.WriteString(pw, "more")
		r.hearsData(1, "more", false)
		pw.Close()
		r.hearsData(1, "", true)
		a.wantEnd(wire.EndKept)
	})
}

// Close ends an upload whose answer is over.
func TestCloseEndsTheUpload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		pr, pw := io.Pipe()
		body := &testBody{t: t, r: pr}
		a := r.start(post(t, body))
		r.hearsHeaders(1, false)
		r.says(1, true, ":status", "200")
		resp := a.answer(200)
		io.WriteString(pw, "one")
		r.hearsData(1, "one", false)
		resp.Body.Close()
		body.wantClosed()
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndUpload)
	})
}

// RST_STREAM behind a whole answer says no more than that the rest isn't needed.
func TestResetBehindAnAnswer(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeCancel, http2.ErrCodeRefusedStream} {
		bubble(t, func(t *testing.T) {
			r := newOpenRig(t, Options{})
			pr, _ := io.Pipe()
			body := &testBody{t: t, r: pr}
			a := r.start(post(t, body))
			r.hearsHeaders(1, false)
			r.ok(1, "too much")
			r.fr.WriteRSTStream(1, code)
			a.answer(200)
			a.reads("too much")
			a.wantEnd(wire.EndUpload)
			a.resp.Body.Close()
			body.wantClosed()
			if a.x.Facts().Refused {
				t.Error("refused, though it was answered")
			}
		})
	}
}

// RST_STREAM(NO_ERROR) before the end of the answer cuts it.
func TestResetWithinAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		r.fr.WriteData(1, false, []byte("half"))
		r.fr.WriteRSTStream(1, http2.ErrCodeNo)
		a.answer(200)
		got, err := io.ReadAll(a.resp.Body)
		if _, ok := err.(http2.StreamError); !ok || string(got) != "half" {
			t.Errorf("read %q, %v", got, err)
		}
		a.wantEnd(wire.EndError)
	})
}

// A Read of the body that hangs is ended by its Close; one that can't be ended is reported.
func TestBodyThatHangs(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		t.Run(fmt.Sprint("stubborn=", stubborn), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				hang := make(chan struct{})
				pr, _ := io.Pipe()
				body := &testBody{t: t, r: pr}
				if stubborn {
					body.r = hangReader{hang}
				}
				ctx, cancel := context.WithCancel(t.Context())
				a := r.start(postCtx(t, ctx, body))
				r.hearsHeaders(1, false)
				synctest.Wait()
				start := time.Now()
				cancel()
				a.failsWith(context.Canceled)
				if stubborn {
					elapsed(t, start, 52*time.Millisecond)
				} else {
					elapsed(t, start, 2*time.Millisecond)
				}
				body.wantClosed()
				if f := a.x.Facts(); !f.BodyTouched || f.BodyBusy != stubborn {
					t.Errorf("facts %+v", f)
				}
				r.hearsReset(1, http2.ErrCodeCancel)
				close(hang)
				synctest.Wait()
				body.wantClosed()
			})
		})
	}
}

type hangReader struct{ c chan struct{} }

func (r hangReader) Read([]byte) (int, error) { <-r.c; return 0, io.EOF }

// A body is untouched until the header section is out.
func TestBodyIsUntouchedUntilHeadersAreOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.nc.SetBuffer(0)
		body := newBody(t, "hello")
		ctx, cancel := context.WithCancel(t.Context())
		a := r.start(postCtx(t, ctx, body))
		synctest.Wait()
		cancel()
		a.failsWith(context.Canceled)
		if body.reads.Load() != 0 || a.x.Facts().BodyTouched {
			t.Error("the body was touched")
		}
		body.wantClosed()
	})
}

// Uploads share the connection: none waits for another one's end.
func TestUploadsAreFair(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 4 << 20})
		r.fr.WriteWindowUpdate(0, 1<<24)
		r.nc.SetBuffer(4 << 10)
		const each = 3 << 20
		for range 3 {
			r.start(small(t, strings.Repeat("x", each)))
			synctest.Wait()
		}
		got := map[uint32]int{}
		for got[1] < each {
			if f, ok := r.hears().(*http2.DataFrame); ok {
				got[f.StreamID] += len(f.Data())
			}
		}
		for _, id := range []uint32{3, 5} {
			if got[id] < each/2 {
				t.Errorf("stream %d has sent %d bytes when stream 1 is through", id, got[id])
			}
		}
	})
}

// No frame is longer than the peer takes, and nothing is sent beyond its windows.
func TestUploadHeedsThePeersLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 20000})
		body := bytes.Repeat([]byte("0123456789"), 10000)
		a := r.start(post(t, bytes.NewReader(body)))
		r.hearsHeaders(1, false)
		var got []byte
		for len(got) < initialWindow {
			f := r.hears().(*http2.DataFrame)
			if len(f.Data()) > 20000 {
				t.Errorf("a frame of %d bytes", len(f.Data()))
			}
			got = append(got, f.Data()...)
		}
		r.hearsNothing()
		r.fr.WriteWindowUpdate(0, 1<<20)
		for ended := false; !ended; {
			f := r.hears().(*http2.DataFrame)
			got = append(got, f.Data()...)
			ended = f.StreamEnded()
		}
		if !bytes.Equal(got, body) {
			t.Error("the body isn't the same")
		}
		r.ok(1, "")
		a.answer(200)
	})
}

func TestRequestTrailers(t *testing.T) {
	for _, body := range []string{"hello", ""} {
		bubble(t, func(t *testing.T) {
			r := newOpenRig(t, Options{})
			req := post(t, newBody(t, body))
			req.Trailer = http.Header{"X-Sum": nil, "X-B": {"2"}}
			req.Body = &trailerBody{newBody(t, body), req.Request}
			a := r.start(req)
			if h := r.hearsHeaders(1, false); h["trailer"] != "X-B,X-Sum" {
				t.Errorf("headers %v", h)
			}
			if body != "" {
				r.hearsData(1, body, false)
			}
			if h := r.hearsHeaders(1, true); h["x-sum"] != "1" || h["x-b"] != "2" || len(h) != 2 {
				t.Errorf("trailers %v", h)
			}
			r.ok(1, "")
			a.answer(200)
			a.wantEnd(wire.EndKept)
		})
	}
}

// trailerBody sets a trailer when it has been read.
type trailerBody struct {
	*testBody
	req *http.Request
}

func (b *trailerBody) Read(p []byte) (int, error) {
	n, err := b.testBody.Read(p)
	if err == io.EOF {
		b.req.Trailer.Set("X-Sum", "1")
	}
	return n, err
}

func TestCloseOfTheBodyFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(post(t, closeFails{strings.NewReader("hello")}))
		r.hearsHeaders(1, false)
		r.hearsData(1, "hello", false)
		r.hearsReset(1, http2.ErrCodeCancel)
		a.failsWith(errTest)
	})
}

type closeFails struct{ io.Reader }

func (closeFails) Close() error { return errTest }
