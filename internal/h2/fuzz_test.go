package h2

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// seeds are scripts of peers, in frames.
func seeds() [][]byte {
	script := func(f func(r *rig)) []byte {
		var b bytes.Buffer
		r := &rig{fr: http2.NewFramer(&b, nil)}
		r.fr.AllowIllegalWrites = true
		r.init()
		f(r)
		return b.Bytes()
	}
	return [][]byte{
		script(func(r *rig) { r.ok(1, "hello"); r.ok(3, "hello"); r.ok(5, "") }),
		script(func(r *rig) {
			r.says(1, false, ":status", "103", "link", "x")
			r.says(1, true, ":status", "200", "content-length", "5")
		}),
		script(func(r *rig) {
			r.says(1, false, ":status", "200", "content-length", "3")
			r.fr.WriteData(1, true, []byte("hello"))
		}),
		script(func(r *rig) {
			r.says(3, false, ":status", "200", "trailer", "x")
			r.fr.WriteData(3, false, []byte("hello"))
			r.says(3, true, "x", "y")
		}),
		script(func(r *rig) {
			r.fr.WriteRSTStream(1, http2.ErrCodeRefusedStream)
			r.fr.WriteRSTStream(3, 0)
			r.fr.WriteRSTStream(5, 1)
		}),
		script(func(r *rig) { r.fr.WriteGoAway(3, 0, []byte("bye")); r.ok(1, "x"); r.fr.WriteGoAway(1, 0, nil) }),
		script(func(r *rig) { r.fr.WriteGoAway(noMoreStreams, 0, nil); r.fr.WriteGoAway(0, 2, nil) }),
		script(func(r *rig) {
			r.fr.WriteWindowUpdate(0, 1000)
			r.fr.WriteWindowUpdate(3, 1000)
			r.fr.WritePing(false, [8]byte{1})
		}),
		script(func(r *rig) {
			r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			r.fr.WriteDataPadded(1, false, []byte("x"), make([]byte, 9))
		}),
		script(func(r *rig) {
			b := r.block(":status", "200", "a", "b")
			r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:1]})
			r.fr.WriteContinuation(1, false, nil)
			r.fr.WriteContinuation(1, true, b[1:])
			r.fr.WriteData(1, true, nil)
		}),
		script(func(r *rig) {
			r.fr.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}),
		script(func(r *rig) {
			r.says(1, false, ":status", "200", "content-encoding", "gzip")
			r.fr.WriteData(1, true, []byte("\x1f\x8b\x08\x00"))
		}),
		[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	}
}

// FuzzConn has a peer that sends anything, in pieces, and closes. Whatever it is, every
// exchange ends, each owner is told once, and nothing counts as refused that the peer didn't
// refuse.
func FuzzConn(f *testing.F) {
	for _, s := range seeds() {
		for _, ways := range []uint8{0, 1, 2, 4, 8, 255} {
			f.Add(s, ways, uint16(7))
		}
	}
	f.Fuzz(func(t *testing.T, script []byte, ways uint8, piece uint16) {
		synctest.Test(t, func(t *testing.T) {
			opt := Options{MaxHeaderBytes: 1000, StreamWindow: 1000}
			if ways&8 != 0 {
				opt.ConnWindow = 70000
			}
			r := newRig(t, opt)
			go io.Copy(io.Discard, r.peer)
			if ways&1 == 0 {
				r.fr.WriteSettings()
			}
			as := fuzzRequests(t, r, ways)
			if ways&2 != 0 {
				r.nc.FailWriteAfter(int(piece), errTest)
			}
			for rest := script; len(rest) > 0; {
				n := min(len(rest), int(piece)+1)
				r.peer.Write(rest[:n])
				rest = rest[n:]
				if ways&16 != 0 {
					synctest.Wait()
				}
			}
			r.peer.CloseWrite()
			for _, a := range as {
				<-a.ret
				consume(a)
				if fa := a.x.Facts(); fa.Refused && (!refuses(script, a.x.id) || a.err == nil || fa.Answered) {
					t.Errorf("stream %d is taken for refused: %+v, %v", a.x.id, fa, a.err)
				}
				<-a.ends
			}
			<-r.ended
			if st := r.c.State(); st.Streams != 0 || st.Queued != 0 {
				t.Errorf("left over: %+v", st)
			}
		})
	})
}

// fuzzRequests starts three: a GET, and POSTs with a streamed body and one in memory.
func fuzzRequests(t *testing.T, r *rig, ways uint8) []*attempt {
	streamed := post(t, newBody(t, "a streamed body"))
	if ways&4 != 0 {
		streamed.Trailer = http.Header{"X-T": {"1"}}
	}
	reqs := []wire.Request{get(t), streamed, small(t, "a body in memory")}
	reqs[0].Gzip = ways&32 != 0
	if ways&64 != 0 {
		reqs[0].Method = "HEAD"
	}
	var as []*attempt
	for _, req := range reqs {
		as = append(as, r.start(req))
		synctest.Wait()
	}
	return as
}

func consume(a *attempt) {
	if a.err == nil {
		io.Copy(io.Discard, a.resp.Body)
		a.resp.Body.Close()
	}
}

// refuses reports whether frames among p, wherever they begin, may prove that stream id wasn't
// processed.
func refuses(p []byte, id uint32) bool {
	for ; len(p) >= frameHead+4; p = p[1:] {
		on := binary.BigEndian.Uint32(p[5:]) & noMoreStreams
		arg := binary.BigEndian.Uint32(p[frameHead:])
		switch http2.FrameType(p[3]) {
		case http2.FrameRSTStream:
			if on == id && http2.ErrCode(arg) == http2.ErrCodeRefusedStream {
				return true
			}
		case http2.FrameGoAway:
			if on == 0 && arg&noMoreStreams < id {
				return true
			}
		}
	}
	return false
}
