package pool

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/peer"

	"golang.org/x/net/http2"
)

// h2Bubble is inBubble for HTTP/2 by prior knowledge.
func h2Bubble(t *testing.T, cfg Config, f func(*script)) {
	t.Helper()
	if cfg.Base == nil {
		cfg.Base = &http.Transport{}
	}
	cfg.Base.Protocols = new(http.Protocols)
	cfg.Base.Protocols.SetUnencryptedHTTP2(true)
	inBubble(t, cfg, f)
}

// An h2Peer is the server's end of an HTTP/2 connection, played by the script.
type h2Peer struct {
	s      *script
	c      *peer.H2Conn
	pc     *peerConn
	frames chan *peer.H2Frame // as they come, acknowledged
	end    chan struct{}
	mute   atomic.Bool // nothing is acknowledged
	told   atomic.Bool // settings was called: a peer's first frame is its SETTINGS
}

// finishH2 lets the dial end with a connection on which the peer has said nothing yet.
func (d *scriptDial) finishH2() *h2Peer {
	d.s.Helper()
	p := &h2Peer{s: d.s, frames: make(chan *peer.H2Frame, 1000), end: make(chan struct{})}
	got := make(chan *peer.H2Conn, 1)
	srv := peer.NewH2(peer.H2Options{KeepBody: 1 << 10, Handler: func(c *peer.H2Conn) {
		got <- c
		p.read(c)
	}})
	p.pc = d.finish()
	go srv.ServeConn(p.pc.Conn)
	d.s.Cleanup(srv.Close)
	synctest.Wait()
	select {
	case p.c = <-got:
	default:
		d.s.Fatal("no preface")
	}
	return p
}

// serveH2 lets the dial end with a peer that takes n streams at a time.
func (d *scriptDial) serveH2(n uint32) *h2Peer {
	d.s.Helper()
	p := d.finishH2()
	p.settings(n)
	return p
}

func (p *h2Peer) read(c *peer.H2Conn) {
	defer close(p.end)
	for {
		f, err := c.Read()
		if err != nil {
			return
		}
		if p.told.Load() && !p.mute.Load() && c.Respond(f) != nil {
			return
		}
		kept := *f
		kept.Data = bytes.Clone(f.Data)
		p.frames <- &kept
	}
}

func (p *h2Peer) settings(streams uint32) {
	p.s.Helper()
	if err := p.c.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: streams}); err != nil {
		p.s.Fatal(err)
	}
	if !p.told.Swap(true) {
		if err := p.c.SettingsAck(); err != nil {
			p.s.Fatal(err)
		}
	}
	synctest.Wait()
}

// wantRequest is the next complete request. It may take a moment where the connection is
// looked at first, as it is after a hook.
func (p *h2Peer) wantRequest() *peer.H2Request {
	p.s.Helper()
	synctest.Wait()
	for late := time.After(moment); ; {
		select {
		case f := <-p.frames:
			if f.Request != nil {
				return f.Request
			}
		case <-late:
			p.s.Fatal("no request")
		}
	}
}

func (p *h2Peer) wantNoRequest() {
	p.s.Helper()
	synctest.Wait()
	for {
		select {
		case f := <-p.frames:
			if f.Request != nil {
				p.s.Fatalf("a request that should not be, on stream %d", f.Request.Stream)
			}
		default:
			return
		}
	}
}

// serve answers the next request with an empty 200.
func (p *h2Peer) serve() {
	p.s.Helper()
	p.answer(p.wantRequest())
}

func (p *h2Peer) answer(q *peer.H2Request) {
	p.s.Helper()
	if err := p.c.Headers(q.Stream, true, ":status", "200"); err != nil {
		p.s.Fatal(err)
	}
	synctest.Wait()
}

func (p *h2Peer) goAway(last uint32, code http2.ErrCode) {
	p.s.Helper()
	if err := p.c.GoAway(last, code); err != nil {
		p.s.Fatal(err)
	}
	synctest.Wait()
}

func (p *h2Peer) reset(q *peer.H2Request, code http2.ErrCode) {
	p.s.Helper()
	if err := p.c.Reset(q.Stream, code); err != nil {
		p.s.Fatal(err)
	}
	synctest.Wait()
}

func (p *h2Peer) close() {
	p.c.Close(peer.FIN)
	synctest.Wait()
}

func (p *h2Peer) wantClosed() { p.s.Helper(); p.pc.wantClosed() }
func (p *h2Peer) wantOpen()   { p.s.Helper(); p.pc.wantOpen() }

// wantOK is an answer with an empty body.
func (tp *trip) wantOK() { tp.s.Helper(); tp.wantBody("") }

// gets starts n requests.
func (s *script) gets(n int) []*trip {
	tps := make([]*trip, n)
	for i := range tps {
		tps[i] = s.get()
	}
	return tps
}

const moment = time.Millisecond

// oneShot is a body that streams and can't be had again.
func oneShot(s string) io.ReadCloser {
	return io.NopCloser(struct{ io.Reader }{strings.NewReader(s)})
}

// wantHeaders is the next HEADERS frame.
func (p *h2Peer) wantHeaders() *peer.H2Frame {
	p.s.Helper()
	return p.wantFrame(http2.FrameHeaders)
}

// wantData is what the next DATA frame has.
func (p *h2Peer) wantData() string {
	p.s.Helper()
	return string(p.wantFrame(http2.FrameData).Data)
}

func (p *h2Peer) wantFrame(kind http2.FrameType) *peer.H2Frame {
	p.s.Helper()
	synctest.Wait()
	for {
		select {
		case f := <-p.frames:
			if f.Type == kind {
				return f
			}
		default:
			p.s.Fatalf("no %v", kind)
		}
	}
}
