package h1

import (
	"errors"
	"fmt"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"example.com/connwise/internal/wire"
)

func traced(req wire.Request, trace *httptrace.ClientTrace) wire.Request {
	req.Request = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	return req
}

const hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

func TestInterimAnswersAreSkippedAndDelivered(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	r.says(hint + "HTTP/1.1 102 Processing\r\n\r\n" + ok5)
	a.answer(200)
	a.reads("hello")
	a.wantEnd(wire.EndKept)

	var got []string
	a = r.start(traced(get(t), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		got = append(got, fmt.Sprint(code, h.Get("Link")))
		return nil
	}}))
	r.hearsHead()
	r.says("HTTP/1.1 100 Continue\r\n\r\n" + hint + ok5)
	a.answer(200)
	a.reads("hello")
	if s := strings.Join(got, " "); s != "100 103</a>" && s != "100 103 </a>" {
		t.Errorf("delivered %q", s)
	}
}

func TestHookEndsTheExchange(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(traced(get(t), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { return errOwn }}))
	r.hearsHead()
	r.says(hint + ok5)
	err := a.fails()
	var hook *wire.HookError
	if !errors.As(err, &hook) || !errors.Is(err, errOwn) {
		t.Errorf("err = %v", err)
	}
	r.wantClosed()
}

func TestHeaderLimit(t *testing.T) {
	const limit = 1000
	fill := func(n int) string {
		const frame = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \r\n\r\n"
		return strings.Replace(frame, "X: ", "X: "+strings.Repeat("a", n-len(frame)), 1)
	}
	r := newRig(t, Options{MaxHeaderBytes: limit})
	a := r.start(get(t))
	r.hearsHead()
	r.says(fill(limit))
	a.answer(200)
	a.wantEnd(wire.EndKept)

	for _, answer := range []string{fill(limit + 1), strings.Repeat("x", 2*limit), strings.Repeat(hint, 50) + fill(100)} {
		r := newRig(t, Options{MaxHeaderBytes: limit})
		a := r.start(get(t))
		r.hearsHead()
		r.says(answer)
		err := a.fails()
		var over *wire.HeaderLimitError
		if !errors.As(err, &over) || !strings.Contains(err.Error(), "server response headers exceeded 1000 bytes") {
			t.Errorf("err = %v", err)
		}
		r.wantClosed()
	}
}

func TestBodyIsNotUnderTheHeaderLimit(t *testing.T) {
	r := newRig(t, Options{MaxHeaderBytes: 100})
	a := r.start(get(t))
	r.hearsHead()
	body := strings.Repeat("b", 5000)
	r.says("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + body)
	a.answer(200)
	a.reads(body)
	a.wantEnd(wire.EndKept)
}

func TestDeliveredInterimAnswersAreNotUnderTheLimit(t *testing.T) {
	const n = 5000
	r := newRig(t, Options{MaxHeaderBytes: 200})
	count := 0
	a := r.start(traced(get(t), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { count++; return nil }}))
	r.hearsHead()
	r.says(strings.Repeat(hint, n) + ok0)
	a.answer(200)
	if count != n {
		t.Errorf("%d delivered, want %d", count, n)
	}
}

func TestFloodOfInterimAnswersEnds(t *testing.T) {
	r := newRig(t, Options{})
	a := r.start(get(t))
	r.hearsHead()
	flood := strings.Repeat("HTTP/1.1 102 P\r\n\r\n", wire.MaxInterim)
	r.says(flood + ok0)
	a.answer(200)

	a = r.start(get(t))
	r.hearsHead()
	r.says(flood + "HTTP/1.1 102 P\r\n\r\n")
	var over *wire.InterimLimitError
	if err := a.fails(); !errors.As(err, &over) {
		t.Errorf("err = %v", err)
	}
	r.wantClosed()
}
