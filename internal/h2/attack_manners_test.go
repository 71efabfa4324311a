package h2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
)

// What a peer does on stream 1, while a request waits there, and what comes of it.
var manners = []struct {
	name string
	does func(r *rig)
	code http2.ErrCode // of the connection's end; ErrCodeNo: it goes on
	fail bool          // the request fails
}{
	{"an even stream", func(r *rig) { r.says(2, true, ":status", "200") }, http2.ErrCodeProtocol, true},
	{"an idle stream", func(r *rig) { r.says(99, true, ":status", "200") }, http2.ErrCodeProtocol, true},
	{"DATA on an idle stream", func(r *rig) { r.fr.WriteData(99, true, []byte("x")) }, http2.ErrCodeProtocol, true},
	{"RST_STREAM of an idle stream", func(r *rig) { r.fr.WriteRSTStream(99, 0) }, http2.ErrCodeProtocol, true},
	{"credit for an idle stream", func(r *rig) { r.fr.WriteWindowUpdate(99, 1) }, http2.ErrCodeProtocol, true},
	{"RST_STREAM of stream 0", func(r *rig) { r.fr.WriteRSTStream(0, 0) }, http2.ErrCodeProtocol, true},
	{"DATA on stream 0", func(r *rig) { r.fr.WriteData(0, true, nil) }, http2.ErrCodeProtocol, true},
	{"a push", func(r *rig) {
		r.fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true, BlockFragment: r.block(":method", "GET")})
	}, http2.ErrCodeProtocol, true},
	{"no credit at all", func(r *rig) { r.fr.WriteWindowUpdate(0, 0) }, http2.ErrCodeProtocol, true},
	{"no credit for the stream", func(r *rig) { r.fr.WriteWindowUpdate(1, 0) }, http2.ErrCodeNo, true},
	{"too much credit", func(r *rig) { r.fr.WriteWindowUpdate(0, 1<<31-1) }, http2.ErrCodeFlowControl, true},
	{"too much credit for the stream", func(r *rig) { r.fr.WriteWindowUpdate(1, 1<<31-1) }, http2.ErrCodeNo, true},
	{"a window beyond 2^31-1", func(r *rig) {
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
	}, http2.ErrCodeFlowControl, true},
	{"a window that overflows with the stream's credit", func(r *rig) {
		r.fr.WriteWindowUpdate(1, 1<<20)
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	}, http2.ErrCodeFlowControl, true},
	{"a frame size below 16 KiB", func(r *rig) {
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 100})
	}, http2.ErrCodeProtocol, true},
	{"a second acknowledgement", func(r *rig) { r.fr.WriteSettingsAck(); r.fr.WriteSettingsAck() }, http2.ErrCodeProtocol, true},
	{"DATA before HEADERS", func(r *rig) { r.fr.WriteData(1, false, []byte("x")) }, http2.ErrCodeNo, true},
	{"trailers without an end", func(r *rig) {
		r.says(1, false, ":status", "200")
		r.says(1, false, "a", "b")
	}, http2.ErrCodeNo, false},
	{"an interim answer as the end", func(r *rig) { r.says(1, true, ":status", "103") }, http2.ErrCodeNo, true},
	{"101", func(r *rig) { r.says(1, false, ":status", "101") }, http2.ErrCodeNo, true},
	{"no status", func(r *rig) { r.says(1, true, "a", "b") }, http2.ErrCodeNo, true},
	{"two statuses", func(r *rig) { r.says(1, true, ":status", "200", ":status", "500") }, http2.ErrCodeNo, true},
	{"a status of letters", func(r *rig) { r.says(1, true, ":status", "abc") }, http2.ErrCodeNo, true},
	{"a request's field", func(r *rig) { r.says(1, true, ":path", "/", ":status", "200") }, http2.ErrCodeNo, true},
	{"capital letters", func(r *rig) { r.says(1, true, ":status", "200", "Server", "x") }, http2.ErrCodeNo, true},
	{"a line break", func(r *rig) { r.says(1, true, ":status", "200", "server", "x\r\ny: z") }, http2.ErrCodeNo, true},
	{"a broken block", func(r *rig) {
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0x7f}})
	}, http2.ErrCodeCompression, true},
	{"a block cut short", func(r *rig) {
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: []byte{0x00, 5, 'a'}})
	}, http2.ErrCodeCompression, true},
	{"PING between HEADERS and CONTINUATION", func(r *rig) {
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: r.block(":status", "200")})
		r.fr.WritePing(false, [8]byte{})
	}, http2.ErrCodeProtocol, true},
	{"CONTINUATION alone", func(r *rig) { r.fr.WriteContinuation(1, true, nil) }, http2.ErrCodeProtocol, true},
	{"CONTINUATIONs without end", func(r *rig) {
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: r.block(":status", "200")})
		for range 200_000 {
			if r.fr.WriteContinuation(1, false, nil) != nil {
				break
			}
		}
	}, http2.ErrCodeEnhanceYourCalm, true},
	{"a frame too long", func(r *rig) { r.fr.WriteRawFrame(0x77, 0, 0, make([]byte, 16<<10+1)) }, http2.ErrCodeFrameSize, true},
	{"a PING of 7 bytes", func(r *rig) { r.fr.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 7)) }, http2.ErrCodeFrameSize, true},
	{"SETTINGS of 7 bytes", func(r *rig) { r.fr.WriteRawFrame(http2.FrameSettings, 0, 0, make([]byte, 7)) }, http2.ErrCodeFrameSize, true},
	{"padding longer than its frame", func(r *rig) {
		r.fr.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 0})
	}, http2.ErrCodeProtocol, true},
	{"frames of the future", func(r *rig) {
		for range 100 {
			r.fr.WriteRawFrame(0x77, 0xff, 1, make([]byte, 1000))
		}
		r.ok(1, "")
	}, http2.ErrCodeNo, false},
	{"HEADERS with all that they may have", func(r *rig) {
		r.fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: r.block(":status", "200"), PadLength: 200,
			Priority: http2.PriorityParam{StreamDep: 1, Exclusive: true, Weight: 3},
		})
	}, http2.ErrCodeNo, false},
}

// Each breach of the protocol costs the stream or the connection, as RFC 9113 has it, and is
// never taken for a proof that the request was not processed.
func TestAttackManners(t *testing.T) {
	for _, m := range manners {
		t.Run(m.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				a := r.start(get(t))
				r.hearsHeaders(1, true)
				go io.Copy(io.Discard, r.peer)
				m.does(r)
				synctest.Wait()
				<-a.ret
				if (a.err != nil) != m.fail {
					t.Errorf("the request ended with %v", a.err)
				}
				if a.err == nil {
					a.resp.Body.Close()
				}
				<-a.ends
				if f := a.x.Facts(); f.Refused || !f.AllSent {
					t.Errorf("facts %+v", f)
				}
				wantCode(t, r, m.code)
			})
		})
	}
}

// wantCode wants the connection to have ended with code, or to go on. In a bubble.
func wantCode(t *testing.T, r *rig, code http2.ErrCode) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if code == http2.ErrCodeNo {
		if len(r.ends) > 0 {
			t.Errorf("the connection ended with %v", r.ends)
		}
		return
	}
	var e *ConnError
	if len(r.ends) != 1 || !errors.As(r.ends[0], &e) || e.Code != code {
		t.Errorf("the connection ended with %v, want %v", r.ends, code)
	}
}

// floods bring nothing, without an end.
var floods = map[string]func(r *rig) error{
	"SETTINGS":      func(r *rig) error { return r.fr.WriteSettings() },
	"PING":          func(r *rig) error { return r.fr.WritePing(false, [8]byte{}) },
	"pongs":         func(r *rig) error { return r.fr.WritePing(true, [8]byte{}) },
	"PRIORITY":      func(r *rig) error { return r.fr.WritePriority(1, http2.PriorityParam{StreamDep: 5}) },
	"unknown":       func(r *rig) error { return r.fr.WriteRawFrame(0x77, 0, 0, nil) },
	"WINDOW_UPDATE": func(r *rig) error { return r.fr.WriteWindowUpdate(1, 1) },
	"GOAWAY":        func(r *rig) error { return r.fr.WriteGoAway(1<<31-1, 0, nil) },
	"empty DATA":    func(r *rig) error { return r.fr.WriteData(3, false, nil) },
	"late HEADERS":  func(r *rig) error { r.eb.Reset(); return writeHead(r, 5) },
	"late resets":   func(r *rig) error { return r.fr.WriteRSTStream(5, 0) },
	"late DATA":     func(r *rig) error { return r.fr.WriteData(5, false, nil) },
}

func writeHead(r *rig, id uint32) error {
	return r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, BlockFragment: r.block(":status", "200")})
}

// Stream 1 waits, on 3 an answer has begun, and 5 was cancelled.
func TestAttackFloods(t *testing.T) {
	for name, flood := range floods {
		for _, reads := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", the peer reads ", reads), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newOpenRig(t, Options{})
					a := r.start(get(t))
					r.hearsHeaders(1, true)
					b := r.start(get(t))
					r.hearsHeaders(3, true)
					r.says(3, false, ":status", "200")
					b.answer(200)
					ctx, cancel := context.WithCancel(context.Background())
					c := r.start(getCtx(t, ctx))
					r.hearsHeaders(5, true)
					cancel()
					c.failsWith(context.Canceled)
					if reads {
						go io.Copy(io.Discard, r.peer)
					}
					n := 0
					for n < 50_000 && flood(r) == nil {
						n++
					}
					a.fails()
					b.resp.Body.Close()
					wantCode(t, r, http2.ErrCodeEnhanceYourCalm)
					if a.x.Facts().Refused {
						t.Error("the flood is taken for a proof")
					}
				})
			})
		}
	}
}
