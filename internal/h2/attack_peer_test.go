package h2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// The table for the compression of fields, and the size of frames, change with every request.
func TestAttackTablesThatChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		for i, size := range []uint32{0, 4096, 100, 0, 1 << 31, 64, 4096, 0, 4096} {
			r.fr.WriteSettings(
				http2.Setting{ID: http2.SettingHeaderTableSize, Val: size},
				http2.Setting{ID: http2.SettingMaxFrameSize, Val: uint32(16<<10 + i%2*(1<<20))})
			r.hearsSettingsAck()
			r.dec.SetAllowedMaxDynamicTableSize(size) // it refuses what's beyond
			req := get(t)
			req.Header.Set("X-Same", strings.Repeat("s", 50))
			req.Header.Set("X-Long", strings.Repeat(fmt.Sprint(i), 20<<10))
			a := r.start(req)
			id := uint32(2*i + 1)
			if f := r.hearsHeaders(id, true); f["x-long"] != req.Header.Get("X-Long") || f["x-same"] == "" {
				t.Fatalf("fields %.200v", f)
			}
			r.ok(id, "")
			a.answer(200)
			a.wantEnd(wire.EndKept)
		}
	})
}

// A head of many small fields that stand for large ones is cut off by its length when it is
// unpacked, and costs its own stream.
func TestAttackBomb(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{MaxHeaderBytes: 1 << 20})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		block := append([]byte(nil), r.block(":status", "200", "x", strings.Repeat("b", 3000))...)
		block = append(block, bytes.Repeat([]byte{0x80 | 62}, 16_000-len(block)%1000)...)
		r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:16000]})
		r.fr.WriteContinuation(1, true, block[16000:])
		var limit *wire.HeaderLimitError
		if err := a.fails(); !errors.As(err, &limit) {
			t.Errorf("failed with %v", err)
		}
		r.hearsReset(1, http2.ErrCodeCancel)
		b := r.start(get(t))
		r.hearsHeaders(3, true)
		r.ok(3, "fine")
		b.answer(200)
		b.reads("fine")
	})
}

// A peer sends a byte a second. All comes out right, in its time.
func TestAttackDribble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{PingAfter: 30 * time.Second})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		var buf bytes.Buffer
		fr := http2.NewFramer(&buf, nil)
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: r.block(":status", "200", "content-length", "3")})
		fr.WriteDataPadded(1, false, []byte("ab"), make([]byte, 10))
		fr.WriteData(1, true, []byte("c"))
		for _, b := range buf.Bytes() {
			time.Sleep(time.Second)
			r.peer.Write([]byte{b})
		}
		a.answer(200)
		a.reads("abc")
		a.wantEnd(wire.EndKept)
	})
}

// What a peer said with a GOAWAY can't be taken back, ids that no stream has are as good as
// others, and a reset behind it proves nothing.
func TestAttackGoAways(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		var as []*attempt
		for i := range 4 {
			as = append(as, r.start(get(t)))
			r.hearsHeaders(uint32(2*i+1), true)
		}
		r.fr.WriteGoAway(1<<31-1, 0, nil)
		r.fr.WriteGoAway(4, http2.ErrCodeInternal, []byte("odd")) // even: between 3 and 5
		as[2].fails()
		as[3].fails()
		r.fr.WriteGoAway(99, 0, nil) // raised
		late := r.start(get(t))
		late.fails()
		r.fr.WriteRSTStream(3, http2.ErrCodeProtocol)
		as[1].fails()
		r.ok(1, "served")
		as[0].answer(200)
		as[0].reads("served")
		for i, want := range []bool{false, false, true, true} {
			if f := as[i].x.Facts(); f.Refused != want || f.Sent == 0 {
				t.Errorf("request %d: %+v, want refused %v", i, f, want)
			}
		}
		late.wantFacts(wire.Facts{})
		for _, g := range r.aways[1:] {
			if g.LastStreamID != 4 {
				t.Errorf("GOAWAYs %+v", r.aways)
			}
		}
	})
}

// A peer refuses a stream in the middle of its answer: that is no proof.
func TestAttackRefusalBehindAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		for i, first := range []string{"103", "200"} {
			a := r.start(get(t))
			id := uint32(2*i + 1)
			r.hearsHeaders(id, true)
			r.says(id, false, ":status", first)
			r.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			<-a.ret
			if a.err == nil {
				_, a.err = io.ReadAll(a.resp.Body)
			}
			if f := a.x.Facts(); a.err == nil || f.Refused || !f.Answered {
				t.Errorf("%s: %v, %+v", first, a.err, f)
			}
		}
	})
}

// A peer stops reading. Whoever wants to leave can, at once, and what each is told of its
// request is what can have left.
func TestAttackPeerThatStopsReading(t *testing.T) {
	for _, end := range []string{"cancel", "close", "kill"} {
		t.Run(end, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
				r.fr.WriteWindowUpdate(0, 1<<30)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var as []*attempt
				for range 100 {
					as = append(as, r.start(postCtx(t, ctx, newBody(t, strings.Repeat("x", 100<<10)))))
				}
				synctest.Wait()
				as = append(as, r.start(getCtx(t, ctx))) // has no room any more
				synctest.Wait()
				start := time.Now()
				switch end {
				case "cancel":
					cancel()
				case "close":
					r.c.Close()
				case "kill":
					r.c.Kill(errors.New("enough"))
				}
				var sent int64
				for _, a := range as {
					a.fails()
					sent += a.x.Facts().Sent
				}
				if d := time.Since(start); d > 2*endWait {
					t.Errorf("left after %v", d)
				}
				if f := as[100].x.Facts(); f.Sent != 0 {
					t.Errorf("of a request that never left: %+v", f)
				}
				if got := int64(r.peer.Unread()); end != "cancel" && sent > got || sent < got-100 {
					t.Errorf("the requests count %d bytes, the peer has got %d", sent, got)
				}
			})
		})
	}
}

// A reader who stalls has filled its window. Others go on, also through a small window of the
// connection, as long as that isn't full.
func TestAttackStalledReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{StreamWindow: 256 << 10})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.says(1, false, ":status", "200")
		for range 16 {
			r.fr.WriteData(1, false, make([]byte, 16<<10))
		}
		a.answer(200) // and isn't read
		go io.Copy(io.Discard, r.peer)
		b := r.start(get(t))
		synctest.Wait()
		r.says(3, false, ":status", "200")
		for range 10_000 { // 160 MB through another stream
			r.fr.WriteData(3, false, make([]byte, 4))
		}
		r.fr.WriteData(3, true, []byte("end"))
		b.answer(200)
		if n, err := io.Copy(io.Discard, b.resp.Body); n != 40_003 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		r.fr.WriteData(1, false, []byte("x")) // one too many
		synctest.Wait()                       // before its reader makes room
		if n, err := io.Copy(io.Discard, a.resp.Body); n != 256<<10 || err == nil {
			t.Errorf("the stalled one: %d bytes, %v", n, err)
		}
		wantCode(t, r, http2.ErrCodeNo)
	})
}

// All uploads wait for windows that are shut, below zero, opened by SETTINGS, and shut again.
func TestAttackWindowsOfManyUploads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100})
		const n, size = 50, 3000
		for range n {
			r.start(small(t, strings.Repeat("u", size)))
		}
		got := make(map[uint32]int)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for over := 0; over < n; {
				f, err := r.fr.ReadFrame()
				if err != nil {
					t.Error(err)
					return
				}
				if d, ok := f.(*http2.DataFrame); ok {
					got[d.StreamID] += len(d.Data())
					if d.StreamEnded() {
						over++
					}
				}
			}
		}()
		for _, w := range []uint32{0, 50, 100, 0, 150, 10, 2000, 0, size} {
			synctest.Wait()
			for id, sum := range got {
				if sum > size {
					t.Fatalf("stream %d sent %d bytes", id, sum)
				}
			}
			r.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: w})
		}
		r.fr.WriteWindowUpdate(0, n*size)
		<-ended
		for id, sum := range got {
			if sum != size {
				t.Errorf("stream %d sent %d bytes", id, sum)
			}
		}
		if len(got) != n {
			t.Errorf("%d streams", len(got))
		}
	})
}

// A peer lowers its limit while requests wait to be written. Behind the acknowledgement no
// stream exceeds it; what doesn't get one is untouched, and says why.
func TestAttackLimitLoweredUnderWaitingRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 10})
		a := r.start(get(t))
		r.hearsHeaders(1, true)
		r.nc.SetBuffer(0) // the socket is full
		r.c.Ping()
		synctest.Wait()
		var as []*attempt
		for range 3 {
			as = append(as, r.start(get(t)))
			synctest.Wait()
		}
		r.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		synctest.Wait()
		for _, b := range append(as[1:], r.start(get(t))) {
			b.failsWith(ErrStreamLimit)
			b.wantEnd(wire.EndKept)
			b.wantFacts(wire.Facts{})
		}
		r.nc.SetBuffer(1 << 20)
		r.hearsPing()
		r.hearsSettingsAck()
		r.hearsHeaders(3, true) // the oldest
		r.ok(1, "")
		a.answer(200)
		a.wantEnd(wire.EndKept)
		c := r.start(get(t))
		r.hearsHeaders(5, true)
		r.ok(5, "")
		c.answer(200)
	})
}
