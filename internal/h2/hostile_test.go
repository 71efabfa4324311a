package h2

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

// What a peer must not do ends the connection, with the code that says why. One stream is
// open: 1.
func TestConnectionErrors(t *testing.T) {
	const (
		proto = http2.ErrCodeProtocol
		flow  = http2.ErrCodeFlowControl
		size  = http2.ErrCodeFrameSize
		calm  = http2.ErrCodeEnhanceYourCalm
		comp  = http2.ErrCodeCompression
	)
	set := func(id http2.SettingID, v uint32) func(*rig) {
		return func(r *rig) { r.fr.WriteSettings(http2.Setting{ID: id, Val: v}) }
	}
	raw := func(typ http2.FrameType, flags http2.Flags, id uint32, p string) func(*rig) {
		return func(r *rig) { r.fr.WriteRawFrame(typ, flags, id, []byte(p)) }
	}
	for name, tt := range map[string]struct {
		do   func(r *rig)
		code http2.ErrCode
	}{
		"push": {func(r *rig) {
			r.fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}, proto},
		"push enabled":           {set(http2.SettingEnablePush, 1), proto},
		"window too large":       {set(http2.SettingInitialWindowSize, 1<<31), flow},
		"frame too small":        {set(http2.SettingMaxFrameSize, 1), proto},
		"second acknowledgement": {func(r *rig) { r.fr.WriteSettingsAck(); r.fr.WriteSettingsAck() }, proto},
		"connect taken back": {func(r *rig) {
			set(http2.SettingEnableConnectProtocol, 1)(r)
			set(http2.SettingEnableConnectProtocol, 0)(r)
		}, proto},
		"window overflow":                 {func(r *rig) { r.fr.WriteWindowUpdate(0, 1<<31-1) }, flow},
		"window overflow by SETTINGS":     {func(r *rig) { r.fr.WriteWindowUpdate(1, 1<<30); set(http2.SettingInitialWindowSize, 1<<31-1)(r) }, flow},
		"window by 0":                     {raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), proto},
		"HEADERS on stream 0":             {raw(http2.FrameHeaders, 4, 0, "\x88"), proto},
		"DATA on stream 0":                {raw(http2.FrameData, 0, 0, "x"), proto},
		"HEADERS on an idle stream":       {func(r *rig) { r.ok(3, "") }, proto},
		"DATA on an idle stream":          {func(r *rig) { r.fr.WriteData(3, false, []byte("x")) }, proto},
		"RST_STREAM of an idle stream":    {func(r *rig) { r.fr.WriteRSTStream(3, 0) }, proto},
		"WINDOW_UPDATE of an idle stream": {func(r *rig) { r.fr.WriteWindowUpdate(3, 1) }, proto},
		"the peer's own stream":           {func(r *rig) { r.ok(2, "") }, proto},
		"HEADERS within HEADERS":          {func(r *rig) { raw(http2.FrameHeaders, 0, 1, "\x88")(r); raw(http2.FrameHeaders, 4, 1, "\x88")(r) }, proto},
		"PING within HEADERS":             {func(r *rig) { raw(http2.FrameHeaders, 0, 1, "\x88")(r); r.fr.WritePing(false, [8]byte{}) }, proto},
		"CONTINUATION of nothing":         {raw(http2.FrameContinuation, 4, 1, "\x88"), proto},
		"frame too large":                 {raw(http2.FrameData, 0, 1, strings.Repeat("x", defaultFrame+1)), size},
		"PING of 7 bytes":                 {raw(http2.FramePing, 0, 0, "1234567"), size},
		"PING on a stream":                {raw(http2.FramePing, 0, 1, "12345678"), proto},
		"GOAWAY on a stream":              {raw(http2.FrameGoAway, 0, 1, "12345678"), proto},
		"padding too long":                {raw(http2.FrameData, http2.FlagDataPadded, 1, "\x05abcd"), proto},
		"no padding at all":               {raw(http2.FrameData, http2.FlagDataPadded, 1, ""), size},
		"HEADERS' padding too long":       {raw(http2.FrameHeaders, 4|http2.FlagHeadersPadded, 1, "\x02\x88"), proto},
		"no priority":                     {raw(http2.FrameHeaders, 4|http2.FlagHeadersPriority, 1, "1234"), proto},
		"index of nothing":                {raw(http2.FrameHeaders, 4, 1, "\xfe"), comp},
		"table larger than told":          {raw(http2.FrameHeaders, 4, 1, "\x3f\xff\xff\xff\x03"), comp},
		"truncated field":                 {raw(http2.FrameHeaders, 4, 1, "\x40\x05ab"), comp},
		"empty DATA": {func(r *rig) {
			r.says(1, false, ":status", "200")
			for range maxIdleFrames {
				r.fr.WriteData(1, false, nil)
			}
		}, calm},
		"SETTINGS flood": {func(r *rig) {
			for range maxIdleFrames + 10 {
				r.fr.WriteSettings()
			}
		}, calm},
		"PING flood": {func(r *rig) {
			for range maxIdleFrames + 10 {
				r.fr.WritePing(false, [8]byte{})
			}
		}, calm},
		"PRIORITY flood": {func(r *rig) {
			for range maxIdleFrames + 10 {
				r.fr.WritePriority(1, http2.PriorityParam{StreamDep: 3})
			}
		}, calm},
		"unknown flood": {func(r *rig) {
			for range maxIdleFrames + 10 {
				r.fr.WriteRawFrame(99, 0, 0, nil)
			}
		}, calm},
		"credit flood": {func(r *rig) {
			for range maxIdleFrames + 10 {
				r.fr.WriteWindowUpdate(0, 1)
			}
		}, calm},
		"GOAWAY flood": {func(r *rig) {
			for range maxIdleFrames + 10 {
				r.fr.WriteGoAway(1, 0, nil)
			}
		}, calm},
		"CONTINUATION flood": {func(r *rig) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(r)
			for range 10000 {
				raw(http2.FrameContinuation, 0, 1, "")(r)
			}
		}, calm},
		"long header block": {func(r *rig) {
			raw(http2.FrameHeaders, 0, 1, "\x88")(r)
			for range 10 {
				raw(http2.FrameContinuation, 0, 1, strings.Repeat("\x88", 16<<10))(r)
			}
		}, calm},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{MaxHeaderBytes: 1 << 10})
				a := r.start(small(t, "x"))
				r.hearsHeaders(1, false)
				r.hearsData(1, "x", true)
				closed := make(chan http2.ErrCode, 1)
				go func() { // reads while the peer writes, whatever is read
					for {
						f, err := r.fr.ReadFrame()
						if err != nil {
							close(closed)
							return
						}
						if g, ok := f.(*http2.GoAwayFrame); ok {
							closed <- g.ErrCode
						}
					}
				}()
				tt.do(r)
				if code, ok := <-closed; !ok || code != tt.code {
					t.Errorf("GOAWAY with %v (%v), want %v", code, ok, tt.code)
				}
				<-r.ended
				ce, ok := errors.AsType[*ConnError](r.ends[0])
				if !ok || ce.Code != tt.code {
					t.Errorf("ended with %v", r.ends[0])
				}
				<-a.ret
				if a.err == nil {
					io.ReadAll(a.resp.Body)
				}
				<-a.ends
			})
		})
	}
}

func TestFirstFrameIsSettings(t *testing.T) {
	for name, f := range map[string]func(r *rig){
		"PING":            func(r *rig) { r.fr.WritePing(false, [8]byte{}) },
		"acknowledgement": func(r *rig) { r.fr.WriteSettingsAck() },
		"GOAWAY":          func(r *rig) { r.fr.WriteGoAway(0, 0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, Options{})
				r.hearsPreface()
				f(r)
				r.hearsGoAway(http2.ErrCodeProtocol)
				<-r.ended
			})
		})
	}
}

// A peer that makes this side answer and doesn't read gets no memory for it.
func TestAnswersForAPeerThatDoesntRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.nc.SetBuffer(0)
		r.fr.WritePing(false, [8]byte{}) // is in a Write from now on
		synctest.Wait()
		for range maxAcks + 1 {
			r.fr.WritePing(false, [8]byte{})
		}
		<-r.ended
		if ce, ok := errors.AsType[*ConnError](r.ends[0]); !ok || ce.Code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("ended with %v", r.ends[0])
		}
	})
}

// Harmless oddities do nothing.
func TestIgnoredFrames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.fr.WriteRawFrame(99, 0xff, 1, []byte("new"))
		r.fr.WritePriority(1, http2.PriorityParam{StreamDep: 3})
		r.fr.WriteSettings(http2.Setting{ID: 99, Val: 1})
		r.hearsSettingsAck()
		r.fr.WritePing(true, [8]byte{1}) // nobody asked
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, PadLength: 7, BlockFragment: r.block(":status", "200"), Priority: http2.PriorityParam{StreamDep: 5, Weight: 3}})
		r.fr.WriteDataPadded(1, true, []byte("hello"), make([]byte, 100))
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		r.fr.WriteRSTStream(1, 0) // it's over
		r.fr.WriteWindowUpdate(1, 10)
		r.hearsNothing()
	})
}

func TestPeersPingIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.fr.WritePing(false, [8]byte{1, 2, 3})
		if f, ok := r.hears().(*http2.PingFrame); !ok || !f.IsAck() || f.Data != [8]byte{1, 2, 3} {
			t.Errorf("got %v", f)
		}
	})
}

// The limit of the header section ends the stream, and the decoder stays in step.
func TestHeaderLimit(t *testing.T) {
	for name, fields := range map[string][]string{
		"many fields":  strings.Split(":status,200"+strings.Repeat(",name,value", 100), ","),
		"a long value": {":status", "200", "name", strings.Repeat("x", 2000)},
		"far too long": {":status", "200", "name", strings.Repeat("x", 15000)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{MaxHeaderBytes: 1000})
				a := r.start(get(t))
				r.hearsHeaders(1, true)
				r.says(1, false, append(fields, "x-late", "indexed")...)
				if e, ok := errors.AsType[*wire.HeaderLimitError](a.fails()); !ok || e.Limit != 1000 {
					t.Errorf("failed with %v", a.err)
				}
				r.hearsReset(1, http2.ErrCodeCancel)
				b := r.start(get(t))
				r.hearsHeaders(3, true)
				r.says(3, true, ":status", "200", "x-late", "indexed")
				if resp := b.answer(200); resp.Header.Get("X-Late") != "indexed" {
					t.Errorf("header %v", resp.Header)
				}
			})
		})
	}
}

// A field that no decoder wants to hold ends the connection: what follows can't be decoded.
func TestFieldBomb(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{MaxHeaderBytes: 1000})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		var b bytes.Buffer
		b.WriteString("\x88\x40\x01a\x7f")
		b.Write(hpackInt(1<<20 - 127))
		r.fr.WriteRawFrame(http2.FrameHeaders, 4, 1, b.Bytes())
		if _, ok := errors.AsType[*wire.HeaderLimitError](a.fails()); !ok {
			t.Errorf("failed with %v", a.err)
		}
		<-r.ended
	})
}

// hpackInt is the rest of an integer behind a full prefix (RFC 7541 section 5.1).
func hpackInt(n uint64) (b []byte) {
	for ; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(b, byte(n))
}

// Blocks of streams that are gone are decoded all the same.
func TestDecoderStaysInStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		a.x.cancel(wire.EndCancelled, errTest)
		a.fails()
		r.hearsReset(1, http2.ErrCodeCancel)
		block := r.block(":status", "200", "x-name", "value")
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:4]})
		r.fr.WriteContinuation(1, true, block[4:])
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		r.says(3, true, ":status", "200", "x-name", "value") // refers to what came before
		if resp := b.answer(200); resp.Header.Get("X-Name") != "value" {
			t.Errorf("header %v", resp.Header)
		}
	})
}

// CONTINUATION frames make one block.
func TestContinuation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16384})
		req := get(t)
		req.Header.Set("X-Long", strings.Repeat("~", 40000)) // Huffman codes of 13 bits: longer than the text
		a := r.start(req)
		if h := r.hearsHeaders(1, true); len(h["x-long"]) != 40000 {
			t.Errorf("headers of %d bytes", len(h["x-long"]))
		}
		block := r.block(":status", "200", "x-long", strings.Repeat("~", 100))
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, BlockFragment: block[:3]})
		for i := 3; i < len(block); i += 7 {
			end := min(i+7, len(block))
			r.fr.WriteContinuation(1, end == len(block), block[i:end])
		}
		if resp := a.answer(200); len(resp.Header.Get("X-Long")) != 100 {
			t.Errorf("header %v", resp.Header)
		}
	})
}

func TestPeersHeaderTable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		r.dec = hpack.NewDecoder(0, nil)
		for i := range 3 {
			id := uint32(1 + 2*i)
			a := r.start(get(t))
			if h := r.hearsHeaders(id, true); h[":path"] != "/p" {
				t.Errorf("headers %v", h)
			}
			r.ok(id, "")
			a.answer(200)
		}
	})
}

func TestInterimAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{MaxHeaderBytes: 10000})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		for range 50 {
			r.says(1, false, ":status", "103", "link", "x")
		}
		r.ok(1, "hello")
		a.answer(200)
		a.reads("hello")
		a.wantEnd(wire.EndKept)
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		for range 10 {
			r.says(3, false, ":status", "103", "link", strings.Repeat("x", 1000))
		}
		if _, ok := errors.AsType[*wire.HeaderLimitError](b.fails()); !ok {
			t.Errorf("failed with %v", b.err)
		}
		r.hearsReset(3, http2.ErrCodeCancel)
		c := r.start(get(t))
		r.hearsHeaders(5, true)
		r.c.opt.MaxHeaderBytes = 0
		for range wire.MaxInterim + 1 {
			r.says(5, false, ":status", "102")
		}
		if _, ok := errors.AsType[*wire.InterimLimitError](c.fails()); !ok {
			t.Errorf("failed with %v", c.err)
		}
		r.hearsReset(5, http2.ErrCodeCancel)
	})
}
