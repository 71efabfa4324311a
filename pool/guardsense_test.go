package pool

import (
	"strings"
	"testing"
	"time"
)

// A tap plays both ends of a connection for a sense, one second apart.
type tap struct {
	*testing.T
	sense
	now time.Time
}

func newTap(t *testing.T) *tap {
	w := &tap{T: t, now: time.Unix(1e9, 0)}
	w.last = w.now
	return w
}

func (w *tap) write(p string) *tap {
	w.now = w.now.Add(time.Second)
	w.wrote([]byte(p), w.now)
	return w
}

func (w *tap) answer(p string) *tap {
	w.now = w.now.Add(time.Second)
	w.sense.read([]byte(p), w.now)
	return w
}

// wantJudged says whether the next write would be judged: a request may begin with it, while
// nothing is under way.
func (w *tap) wantJudged(next string, want bool) *tap {
	w.Helper()
	if got := w.begins([]byte(next)) && w.resting(); got != want {
		w.Errorf("a write of %.40q is judged: %v, want %v", next, got, want)
	}
	return w
}

const (
	getHead        = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	postHead       = "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n"
	okAnswer       = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	continueAnswer = "HTTP/1.1 100 Continue\r\n\r\n"
	hintsAnswer    = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	switchAnswer   = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
)

func TestPlainRequestsAreTold(t *testing.T) {
	tests := []struct {
		name string
		play func(*tap)
		next string
		want bool
	}{
		{"unused", func(w *tap) {}, getHead, true},
		{"in mid-request", func(w *tap) { w.write(postHead) }, getHead, false},
		{"answered", func(w *tap) { w.write(getHead).answer(okAnswer) }, postHead, true},
		{"a body goes on after the answer", func(w *tap) { w.write(postHead).answer(okAnswer) }, "0123456789", false},
		{"a chunk after the answer", func(w *tap) { w.write(postHead).answer(okAnswer) }, "1a\r\nabc", false},
		{"after an upload that went on behind the answer", func(w *tap) { w.write(postHead).answer(okAnswer).write("0123456789") }, getHead, true},
		{"100", func(w *tap) { w.write(postHead).answer(continueAnswer) }, getHead, false},
		{"100 and 103", func(w *tap) { w.write(postHead).answer(continueAnswer + hintsAnswer) }, getHead, false},
		{"103, then the answer", func(w *tap) { w.write(postHead).answer(hintsAnswer).answer(okAnswer) }, getHead, true},
		{"100 and the answer in one", func(w *tap) { w.write(postHead).answer(continueAnswer + okAnswer) }, getHead, true},
		{"half a status line", func(w *tap) { w.write(postHead).answer("HTTP/1.1 2") }, getHead, false},
		{"the other half", func(w *tap) { w.write(postHead).answer("HTTP/1.1 2").answer("00 OK\r\n") }, getHead, true},
		{"101", func(w *tap) { w.write(getHead).answer(switchAnswer) }, getHead, false},
		{"101 behind 100", func(w *tap) { w.write(getHead).answer(continueAnswer + switchAnswer).write("x").answer("y") }, getHead, false},
		{"an answer that isn't HTTP/1", func(w *tap) { w.write(getHead).answer("<html>hello world") }, getHead, true},
		{"pipelined", func(w *tap) { w.write(getHead).write(getHead).answer(okAnswer) }, getHead, true},
		{"through a SOCKS proxy", func(w *tap) { w.write("\x05\x01\x00").answer("\x05\x00") }, getHead, false},
		{"CONNECT", func(w *tap) { w.write("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n\r\n").answer(okAnswer) }, helloOf(t, nil), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTap(t)
			tt.play(w)
			w.wantJudged(tt.next, tt.want)
		})
	}
}

func TestRequestLines(t *testing.T) {
	for p, want := range map[string]bool{
		"GET / HTTP/1.1\r\n": true, "M-SEARCH * HTTP/1.1\r\n\r\n": true, "get / HTTP/1.0\n": true,
		"GET /" + strings.Repeat("a", 5000): true, "GET http://a.test/" + strings.Repeat("a", 5000): true,
		"GET ": false, "GET /": false, "hello world": false, "hello " + strings.Repeat("a", 5000): false, "hello /": false,
		"": false, "GET": false, " GET / HTTP/1.1\r\n": false, "GET  / HTTP/1.1\r\n": false,
		"hello world\r\n": false, "POST that letter\nto me": false, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": false,
		"\x81\x05hello": false, "5\r\nhello\r\n": false, "{\"a\": 1}": false, "GET /\r\n": false,
		strings.Repeat("A", 40) + " / HTTP/1.1\r\n": false,
	} {
		if got := beginsRequest([]byte(p)); got != want {
			t.Errorf("%.40q: %v, want %v", p, got, want)
		}
	}
}

// tlsRecord is a TLS record of n bytes in all.
func tlsRecord(kind byte, n int) string {
	return string([]byte{kind, 3, 3, byte((n - 5) >> 8), byte(n - 5)}) + strings.Repeat("x", n-5)
}

func tlsData(n int) string { return tlsRecord(recordData, n) }

// shake makes the handshake of TLS 1.3, as net/http does it over the guard.
func (w *tap) shake(hello string) *tap {
	return w.write(hello).answer(tlsRecord(recordHandshake, 127) + tlsRecord(20, 6) + tlsData(32) + tlsData(900) + tlsData(90)).write(tlsRecord(20, 6) + tlsData(58))
}

func TestTLSRequestsAreTold(t *testing.T) {
	h1, h2 := helloOf(t, nil), helloOf(t, []string{"h2", "http/1.1"})
	tests := []struct {
		name  string
		hello string
		play  func(*tap)
		next  string
		want  bool
	}{
		{"unused", h1, func(w *tap) {}, tlsData(200), true},
		{"unused, with tickets", h1, func(w *tap) { w.answer(tlsData(239) + tlsData(239)) }, tlsData(200), true},
		{"in mid-request", h1, func(w *tap) { w.write(tlsData(200)) }, tlsData(300), false},
		{"answered", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(400)) }, tlsData(200), true},
		{"an answer in pieces", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(60)).answer(tlsData(60)) }, tlsData(200), true},
		{"100", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(47)) }, tlsData(200), false},
		{"two tickets behind the first request", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(239)).answer(tlsData(239)) }, tlsData(200), false},
		{"two tickets and the answer", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(239) + tlsData(239) + tlsData(120)) }, tlsData(200), true},
		{"a first answer in equal records", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(1400) + tlsData(1400)) }, tlsData(200), true},
		{"a later answer in equal small records", h1, func(w *tap) {
			w.write(tlsData(200)).answer(tlsData(400)).write(tlsData(200)).answer(tlsData(239) + tlsData(239))
		}, tlsData(200), true},
		{"a frame of WebSocket", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(400)) }, tlsData(40), false},
		{"an alert", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(400)) }, tlsData(24), false},
		{"a small frame where HTTP/2 may be spoken", h2, func(w *tap) { w.write(tlsData(200)).answer(tlsData(400)) }, tlsData(40), true},
		{"behind a WINDOW_UPDATE", h2, func(w *tap) { w.write(tlsData(200)).answer(tlsData(400)).write(tlsData(35)) }, tlsData(200), true},
		{"a small piece of a body", h1, func(w *tap) { w.write(tlsData(200)).answer(tlsData(47)).write(tlsData(40)).answer(tlsData(47)) }, tlsData(200), false},
		{"TLS in a tunnel", h1, func(w *tap) {
			w.sense = sense{last: w.now}
			w.write("CONNECT a.test:443 HTTP/1.1\r\n\r\n").answer(okAnswer).shake(h1).wantJudged(tlsData(200), true).write(tlsData(200))
		}, tlsData(200), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTap(t).shake(tt.hello)
			tt.play(w)
			w.wantJudged(tt.next, tt.want)
		})
	}
}

// The age counts from the last byte, not from the dial; nothing of a handshake is a rest.
func TestAHandshakeIsNoRest(t *testing.T) {
	w := newTap(t)
	w.write(helloOf(t, nil))
	if w.resting() {
		t.Error("a connection rests behind its ClientHello")
	}
	w.answer(tlsRecord(recordHandshake, 127)).write(tlsRecord(20, 6) + tlsData(58))
	if !w.resting() || w.started || !w.last.Equal(w.now) {
		t.Errorf("behind its handshake a connection rests: %v, started: %v", w.resting(), w.started)
	}
}

// Who refuses the certificate says so in the place of the last word of its handshake.
func TestAFailedHandshakeIsNoRest(t *testing.T) {
	for _, alert := range []string{tlsData(24), tlsRecord(recordAlert, 7)} {
		w := newTap(t).write(helloOf(t, nil)).answer(tlsRecord(recordHandshake, 127)).write(tlsRecord(20, 6) + alert)
		if w.resting() {
			t.Error("a connection rests behind an alert")
		}
	}
}

func TestHTTP2IsNeverAged(t *testing.T) {
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for name, w := range map[string]*tap{
		"prior knowledge": newTap(t).write(preface),
		"ALPN": func() *tap {
			w := newTap(t).shake(helloOf(t, []string{"h2"}))
			w.secured(true, w.now)
			return w.write(tlsData(100))
		}(),
	} {
		if w.ages() || w.resting() {
			t.Errorf("%s: aged: %v, resting: %v", name, w.ages(), w.resting())
		}
		if w.answer(tlsData(100)); w.ages() || !w.resting() {
			t.Errorf("%s, answered: aged: %v, resting: %v", name, w.ages(), w.resting())
		}
	}
	w := newTap(t).shake(helloOf(t, []string{"h2", "http/1.1"}))
	w.secured(false, w.now)
	w.write(tlsData(200)).answer(tlsData(400)).wantJudged(tlsData(40), false).wantJudged(tlsData(200), true)
}

func TestClientHellos(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hello string
		want  clientHello
	}{
		{"nothing offered", helloOf(t, nil), clientHello{}},
		{"HTTP/1.1", helloOf(t, []string{"http/1.1"}), clientHello{}},
		{"HTTP/2", helloOf(t, []string{"h2", "http/1.1"}), clientHello{http2: true}},
		{"HTTP/2, second", helloOf(t, []string{"http/1.1", "h2"}), clientHello{http2: true}},
		{"sessions", resumable(t), clientHello{tickets: true}},
		{"cut short", helloOf(t, nil)[:100], clientHello{http2: true, tickets: true}},
		{"empty", "", clientHello{http2: true, tickets: true}},
	} {
		if got := parseClientHello([]byte(tt.hello)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Whatever comes, in whatever pieces, makes no difference and no panic.
func FuzzSensePieces(f *testing.F) {
	f.Add([]byte(continueAnswer+hintsAnswer+okAnswer), 3)
	f.Add([]byte(switchAnswer), 1)
	f.Add([]byte("\r\n"+okAnswer), 2)
	f.Add([]byte(tlsData(239)+tlsData(239)+tlsData(70)), 4)
	f.Add([]byte(helloOf(f, []string{"h2"})), 50)
	hello := helloOf(f, nil)
	f.Fuzz(func(t *testing.T, p []byte, n int) {
		n = max(1, min(n, len(p)))
		for _, begin := range []string{postHead, hello} {
			whole, pieces := newTap(t), newTap(t)
			whole.write(begin).write(tlsRecord(20, 70)).write(tlsData(100)).answer(string(p))
			pieces.write(begin).write(tlsRecord(20, 70)).write(tlsData(100))
			for q := p; len(q) > 0; q = q[min(n, len(q)):] {
				pieces.answer(string(q[:min(n, len(q))]))
			}
			if whole.kind != pieces.kind || whole.resting() != pieces.resting() {
				t.Errorf("whole: kind %d, resting %v; in pieces of %d: kind %d, resting %v", whole.kind, whole.resting(), n, pieces.kind, pieces.resting())
			}
		}
		parseClientHello(p)
		beginsRequest(p)
	})
}
