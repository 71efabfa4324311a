package probe

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/http2"
)

const secret = "s3cret-of-the-caller"

// answered makes a server that reads requests' heads and answers each in its own way.
func answered(answer func(c *scripted, req *http.Request)) func(*scripted, int) {
	return func(c *scripted, _ int) {
		for req := c.next(0); req != nil; req = c.next(0) {
			answer(c, req)
		}
	}
}

// forever writes text until the client has enough.
func forever(c *scripted, text string) {
	text = strings.ReplaceAll(text, "\n", "\r\n")
	text = strings.Repeat(text, 1+4096/len(text))
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, byte(flags))
	b = binary.BigEndian.AppendUint32(b, stream)
	return string(b) + payload
}

// floods makes an HTTP/2 server that reads the preface, and then says text for ever.
func floods(first, text string) func(*scripted, int) {
	return func(c *scripted, _ int) {
		_, _ = io.ReadFull(c.br, make([]byte, len(http2.ClientPreface)))
		go c.untilClosed()
		_, _ = io.WriteString(c, frame(http2.FrameSettings, 0, 0, "")+first)
		text = strings.Repeat(text, 1+4096/len(text))
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

var hostileH1 = map[string]func(*scripted, int){
	"endless head":     answered(func(c *scripted, _ *http.Request) { c.say("HTTP/1.1 200 OK\n"); forever(c, "X-A: b\n") }),
	"endless line":     answered(func(c *scripted, _ *http.Request) { c.say("HTTP/1.1 200 OK\n"); forever(c, "no colon here \x1b[2J") }),
	"endless status":   answered(func(c *scripted, _ *http.Request) { forever(c, "HTTP/1.1 200 \x1b[2J") }),
	"endless interims": answered(func(c *scripted, _ *http.Request) { forever(c, "HTTP/1.1 103 Early Hints\nX-A: b\n\n") }),
	"endless body":     answered(func(c *scripted, _ *http.Request) { c.say("HTTP/1.1 200 OK\n\n"); forever(c, "body") }),
	"endless chunks": answered(func(c *scripted, _ *http.Request) {
		c.say("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")
		forever(c, "1;ext=very-long\na\n")
	}),
	"endless trailers": answered(func(c *scripted, _ *http.Request) {
		c.say("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0\n")
		forever(c, "X-A: b\n")
	}),
	"endless bytes unasked": func(c *scripted, _ int) { go c.untilClosed(); forever(c, "surplus ") },
	"head says the secret": answered(func(c *scripted, req *http.Request) {
		c.say("HTTP/1.1 200 OK\n" + req.Header.Get("X-Token") + "\x1b[31m\n\n")
	}),
	"status says the secret": answered(func(c *scripted, req *http.Request) { c.say(req.Header.Get("X-Token") + "\n\n") }),
	"fields say the secret": answered(func(c *scripted, req *http.Request) {
		s := req.Header.Get("X-Token")
		c.say("HTTP/1.1 200 OK\nServer: " + s + "\nKeep-Alive: " + s + "\nContent-Length: 0\n\n")
	}),
	"silent":      answered(func(*scripted, *http.Request) {}),
	"half a head": answered(func(c *scripted, _ *http.Request) { c.say("HTTP/1.1 200 OK\nX-A") }),
	"nonsense about keep-alive": answered(func(c *scripted, _ *http.Request) {
		c.say("HTTP/1.1 200 OK\nKeep-Alive: timeout=-1, timeout=1e12, max=99999999999999999999, \x01=\nContent-Length: 0\n\n")
	}),
	"switches protocols": answered(func(c *scripted, _ *http.Request) {
		c.say("HTTP/1.1 101 Switching Protocols\nUpgrade: x\nConnection: upgrade\n\n")
	}),
	"redirects":                  answered(func(c *scripted, _ *http.Request) { c.say("HTTP/1.1 302 Found\nLocation: /\nContent-Length: 0\n\n") }),
	"too many requests":          answered(func(c *scripted, _ *http.Request) { c.say("HTTP/1.1 429 Too Many Requests\nContent-Length: 0\n\n") }),
	"resets at once":             func(c *scripted, _ int) { _ = c.raw.SetLinger(0) },
	"resets behind the request":  func(c *scripted, _ int) { c.next(0); _ = c.raw.SetLinger(0) },
	"two answers to one request": answered(func(c *scripted, _ *http.Request) { c.say(ok + ok) }),
}

var hostileH2 = map[string]func(*scripted, int){
	"PINGs":         floods("", frame(http2.FramePing, 0, 0, "12345678")),
	"SETTINGS":      floods("", frame(http2.FrameSettings, 0, 0, "")),
	"GOAWAYs":       floods("", frame(http2.FrameGoAway, 0, 0, "\x7f\xff\xff\xff\x00\x00\x00\x00\x1b[2J"+secret)),
	"no SETTINGS":   func(c *scripted, _ int) { c.untilClosed() },
	"HTTP/1":        func(c *scripted, _ int) { c.say("HTTP/1.1 400 Bad Request\nContent-Length: 0\n\n"); c.untilClosed() },
	"long frames":   floods("", frame(http2.FrameData, 0, 1, strings.Repeat("x", 1<<20))),
	"empty DATA":    floods("", frame(http2.FrameData, 0, 1, "")),
	"CONTINUATIONs": floods(frame(http2.FrameHeaders, 0, 1, "\x88"), frame(http2.FrameContinuation, 0, 1, strings.Repeat("\x0f\x01\x01a\x01b", 100))),
	"garbage":       floods("", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	"RST_STREAMs":   floods("", frame(http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x07")),
	"unknown":       floods("", frame(http2.FrameType(0xfa), 0, 1, "xx")),
}

// Nothing that a server says makes the probe take long, open more connections than it has said,
// or print what is secret or what a terminal would obey.
func TestHostileServersAreBounded(t *testing.T) {
	battery := func(proto string, servers map[string]func(*scripted, int)) {
		for name, serve := range servers {
			t.Run(proto+"/"+name, func(t *testing.T) { besiege(t, proto, nil, serve) })
		}
	}
	battery(H1, hostileH1)
	battery(H2C, hostileH2)
	t.Run("TLS garbage", func(t *testing.T) {
		url := script(t, nil, func(c *scripted, _ int) { go c.untilClosed(); forever(c, "\x16\x03\x03\x40\x00garbage") })
		examine(t, Options{URL: strings.Replace(url, "http:", "https:", 1)})
	})
	t.Run("TLS silent", func(t *testing.T) {
		url := script(t, nil, func(c *scripted, _ int) { c.untilClosed() })
		examine(t, Options{URL: strings.Replace(url, "http:", "https:", 1)})
	})
	t.Run("ALPN lies", func(t *testing.T) {
		cfg, _ := serverTLS(t)
		cfg.NextProtos = []string{"h2", "http/1.1"}
		besiege(t, "", cfg, func(c *scripted, _ int) { // speaks HTTP/1.1 whatever it has agreed on
			_ = c.Conn.(*tls.Conn).Handshake()
			c.say(ok)
			c.untilClosed()
		})
	})
}

func besiege(t *testing.T, proto string, cfg *tls.Config, serve func(*scripted, int)) {
	n := make(chan struct{}, 1000)
	url := script(t, cfg, func(c *scripted, nth int) {
		n <- struct{}{}
		serve(c, nth)
	})
	o := Options{URL: url, Insecure: cfg != nil}
	if proto != "" {
		o.Protos = []string{proto}
	}
	pl := examine(t, o)
	if len(n) > pl.Connections {
		t.Errorf("%d connections, planned were %d", len(n), pl.Connections)
	}
}

// examine runs a probe in a hurry and looks at what it would print.
func examine(t *testing.T, o Options) Plan {
	o.Conns, o.Max, o.Timeout, o.Requests, o.Spread = 2, 250*time.Millisecond, 250*time.Millisecond, 5, -1
	o.Header = http.Header{"X-Token": {secret}}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.linger, p.minUnused = 100*time.Millisecond, 100*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	rep, err := p.Run(ctx)
	if ctx.Err() != nil {
		t.Errorf("it took %v", rep.Took)
	}
	text, jerr := json.Marshal(rep)
	if jerr != nil {
		t.Fatal(jerr)
	}
	shown := []string{string(text)}
	if err != nil {
		shown = append(shown, err.Error())
	}
	for _, pr := range rep.Protocols {
		shown = append(shown, pr.Error, pr.Requests.By, pr.Server, strings.Join(pr.Notes, " "))
	}
	for _, s := range shown {
		if strings.Contains(s, secret) {
			t.Errorf("it shows the secret: %.300q", s)
		}
		if len(s) > 4096 {
			t.Errorf("it shows %d bytes: %.300q", len(s), s)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("it shows what a terminal obeys: %.300q", s)
		}
	}
	t.Logf("%v: %.300s %v", rep.Took, text, len(text))
	return p.Plan()
}
