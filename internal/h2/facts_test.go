package h2

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"example.com/connwise/internal/wire"
)

// A POST of a small body, on stream 1. What its failure proves must be exactly what the peer
// did.
func TestFacts(t *testing.T) {
	const (
		all    = -1 // the whole request was accepted
		no     = 0
		refuse = http2.ErrCodeRefusedStream
	)
	type facts struct {
		sent              int64 // or all
		answered, refused bool
		goAway, streamErr bool
		target            error
		end               wire.End
	}
	for name, tt := range map[string]struct {
		do   func(r *rig)
		want facts
	}{
		"reset": {func(r *rig) { r.fr.WriteRSTStream(1, http2.ErrCodeCancel) },
			facts{sent: all, streamErr: true}},
		"refused": {func(r *rig) { r.fr.WriteRSTStream(1, refuse) },
			facts{sent: all, refused: true, streamErr: true}},
		"refused behind an interim answer": {func(r *rig) { r.says(1, false, ":status", "103"); r.fr.WriteRSTStream(1, refuse) },
			facts{sent: all, answered: true, streamErr: true}},
		"PROTOCOL_ERROR behind a GOAWAY": {func(r *rig) { r.fr.WriteGoAway(1, 0, nil); r.fr.WriteRSTStream(1, http2.ErrCodeProtocol) },
			facts{sent: all, streamErr: true}},
		"refused behind a GOAWAY": {func(r *rig) { r.fr.WriteGoAway(1, 0, nil); r.fr.WriteRSTStream(1, refuse) },
			facts{sent: all, refused: true, streamErr: true}},
		"GOAWAY below": {func(r *rig) { r.fr.WriteGoAway(0, http2.ErrCodeNo, nil) },
			facts{sent: all, refused: true, goAway: true}},
		"GOAWAY below with an error": {func(r *rig) { r.fr.WriteGoAway(0, http2.ErrCodeInternal, []byte("oh")) },
			facts{sent: all, refused: true, goAway: true}},
		"GOAWAY below, behind an interim answer": {func(r *rig) { r.says(1, false, ":status", "103"); r.fr.WriteGoAway(0, 0, nil) },
			facts{sent: all, answered: true, goAway: true}},
		"GOAWAY at, then EOF": {func(r *rig) { r.fr.WriteGoAway(1, 0, nil); r.peer.Close() },
			facts{sent: all, goAway: true, target: io.ErrUnexpectedEOF}},
		"GOAWAY of no stream, then EOF": {func(r *rig) { r.fr.WriteGoAway(noMoreStreams, 0, nil); r.peer.Close() },
			facts{sent: all, goAway: true, target: io.ErrUnexpectedEOF}},
		"GOAWAY of no stream, then the true one": {func(r *rig) { r.fr.WriteGoAway(noMoreStreams, 0, nil); r.fr.WriteGoAway(0, 0, nil) },
			facts{sent: all, refused: true, goAway: true}},
		"GOAWAY that takes one back": {func(r *rig) { r.fr.WriteGoAway(1, 0, nil); r.fr.WriteGoAway(0, 0, nil) },
			facts{sent: all, refused: true, goAway: true}},
		"GOAWAY below with the EOF": {func(r *rig) { r.fr.WriteGoAway(0, 0, nil); r.peer.Close() },
			facts{sent: all, refused: true, goAway: true}},
		"EOF": {func(r *rig) { r.peer.Close() }, facts{sent: all, target: io.ErrUnexpectedEOF}},
		"RST": {func(r *rig) { r.peer.Reset() }, facts{sent: all, target: syscall.ECONNRESET}},
		"no HTTP/2": {func(r *rig) { io.WriteString(r.peer, "HTTP/1.1 400 Bad Request\r\n\r\n") },
			facts{sent: all, target: http2.ErrFrameTooLarge}},
		"half a frame": {func(r *rig) { io.WriteString(r.peer, "\x00\x00\x08\x07"); r.peer.Close() },
			facts{sent: all, target: io.ErrUnexpectedEOF}},
		"killed": {func(r *rig) { r.c.Kill(errTest) }, facts{sent: all, target: errTest}},
		"closed": {func(r *rig) { r.c.Close() }, facts{sent: all, target: errClosed}},
		"bad answer": {func(r *rig) { r.says(1, true, ":status", "20") },
			facts{sent: all, answered: true, streamErr: true, end: wire.EndError}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				a := r.start(small(t, "hello"))
				r.hearsHeaders(1, false)
				r.hearsData(1, "hello", true)
				synctest.Wait()
				tt.do(r)
				err := a.fails()
				if se, ok := err.(http2.StreamError); ok != tt.want.streamErr || ok && se.StreamID != 1 {
					t.Errorf("error %T %v", err, err)
				}
				if ga, ok := errors.AsType[*GoAwayError](err); ok != tt.want.goAway || ok && ga.StreamID != 1 {
					t.Errorf("error %T %v", err, err)
				}
				if tt.want.target != nil && !errors.Is(err, tt.want.target) {
					t.Errorf("error %v, want %v", err, tt.want.target)
				}
				a.wantEnd(wire.EndError)
				a.wantFacts(wire.Facts{Sent: a.x.queued, AllSent: true, Answered: tt.want.answered, Refused: tt.want.refused})
			})
		})
	}
}

var errTest = errors.New("test error")

// What was never in a batch never leaves, whatever ends it.
func TestUnsentIsProven(t *testing.T) {
	for name, do := range map[string]func(r *rig, cancel func()){
		"cancel":       func(r *rig, cancel func()) { cancel() },
		"kill":         func(r *rig, cancel func()) { r.c.Kill(errTest) },
		"close":        func(r *rig, cancel func()) { r.c.Close() },
		"reset":        func(r *rig, cancel func()) { r.peer.Reset() },
		"GOAWAY":       func(r *rig, cancel func()) { r.fr.WriteGoAway(noMoreStreams, 0, nil) },
		"write failed": func(r *rig, cancel func()) { r.nc.FailWriteAfter(0, errTest) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				r.nc.SetBuffer(0)
				first := r.start(get(t)) // is stuck in a Write
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := r.start(getCtx(t, ctx))
				synctest.Wait()
				do(r, cancel)
				synctest.Wait()
				select {
				case <-a.ret:
				default:
					t.Fatal("Start doesn't return")
				}
				a.fails()
				if a.x.id != 0 {
					t.Errorf("it has stream %d", a.x.id)
				}
				a.wantFacts(wire.Facts{})
				<-a.ends
				r.nc.SetBuffer(1 << 20)
				r.c.Kill(errTest)
				first.fails()
			})
		})
	}
}

// A request that was taken back isn't written later.
func TestTakenBackIsNeverWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.nc.SetBuffer(0)
		first := r.start(get(t))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		a := r.start(getCtx(t, ctx))
		synctest.Wait()
		last := r.start(get(t))
		synctest.Wait()
		cancel()
		a.failsWith(context.Canceled)
		a.wantEnd(wire.EndCancelled)
		r.nc.SetBuffer(1 << 20)
		for i, x := range []*attempt{first, last} {
			id := uint32(1 + 2*i)
			r.hearsHeaders(id, true)
			r.ok(id, "")
			x.answer(200)
		}
		r.hearsNothing()
	})
}

// What is in a batch that waits behind a stalled Write may leave later.
func TestInABatchIsMaybeSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		r.nc.SetBuffer(0)
		ctx, cancel := context.WithCancel(t.Context())
		a := r.start(getCtx(t, ctx))
		synctest.Wait()
		cancel()
		a.failsWith(context.Canceled)
		if f := a.x.Facts(); f.Sent == 0 || !f.AllSent {
			t.Errorf("facts %+v", f)
		}
		a.open() // the peer may yet see it
		r.nc.SetBuffer(1 << 20)
		r.hearsHeaders(1, true)
		r.hearsReset(1, http2.ErrCodeCancel)
		a.wantEnd(wire.EndCancelled)
	})
}

// The same batch is proven unsent when its Write has ended without taking a byte.
func TestBatchThatWasntTaken(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"reset": func(r *rig) { r.peer.Reset() },
		"kill":  func(r *rig) { r.c.Kill(errTest) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newOpenRig(t, Options{})
				r.nc.SetBuffer(0)
				a := r.start(get(t))
				synctest.Wait()
				end(r)
				a.fails()
				a.wantFacts(wire.Facts{})
				a.wantEnd(wire.EndError)
			})
		})
	}
}

// A Write that takes a part counts to the byte.
func TestPartOfABatch(t *testing.T) {
	for take, total := 0, 1; take < total; take++ {
		bubble(t, func(t *testing.T) {
			r := newOpenRig(t, Options{})
			r.nc.FailWriteAfter(take, errTest)
			a := r.start(get(t))
			start := time.Now()
			err := a.fails()
			total = int(a.x.queued)
			if !errors.Is(err, errTest) {
				t.Errorf("take %d: %v", take, err)
			}
			if take == 0 {
				elapsed(t, start, 0) // nothing more to be known
			} else {
				elapsed(t, start, readOn)
			}
			a.wantFacts(wire.Facts{Sent: int64(take)})
		})
		if t.Failed() {
			return
		}
	}
}

// After a failed Write the connection is read on: the GOAWAY that proves a request unprocessed
// may be waiting, and so may an answer.
func TestReadsOnAfterAWriteError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		old := r.start(get(t))
		r.hearsHeaders(1, true)
		synctest.Wait()
		r.nc.FailWriteAfter(10, errTest)
		a := r.start(get(t))
		synctest.Wait()
		b := r.start(get(t))
		<-b.ret
		b.failsWith(errTest) // not asked to wait
		b.wantFacts(wire.Facts{})
		start := time.Now()
		r.ok(1, "hello")
		r.fr.WriteGoAway(1, 0, nil)
		old.answer(200)
		old.reads("hello")
		a.fails()
		elapsed(t, start, 0)
		a.wantFacts(wire.Facts{Sent: 10, Refused: true})
		time.Sleep(readOn)
		<-r.ended
	})
}

func TestAnswersBehindAnEOFCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newOpenRig(t, Options{})
		a := r.start(get(t))
		b := r.start(get(t))
		r.hears()
		r.hears()
		r.ok(1, "hello")
		r.says(3, false, ":status", "200")
		r.fr.WriteData(3, false, []byte("half"))
		r.peer.Close()
		for _, x := range []*attempt{a, b} {
			x.answer(200)
			got, err := io.ReadAll(x.resp.Body)
			switch string(got) {
			case "hello":
				if err != nil {
					t.Error(err)
				}
				x.wantEnd(wire.EndKept)
			case "half":
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Error(err)
				}
				x.wantEnd(wire.EndError)
			default:
				t.Errorf("read %q, %v", got, err)
			}
		}
	})
}
