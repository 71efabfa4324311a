package h2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/fakenet"
	"example.com/connwise/internal/wire"
)

// A rig is a Conn and the peer's end of it, which is scripted frame by frame.
type rig struct {
	*recorder
	t    *testing.T
	c    *Conn
	nc   *fakenet.Conn // under c
	peer *fakenet.Conn
	fr   *http2.Framer
	enc  *hpack.Encoder
	eb   bytes.Buffer
	dec  *hpack.Decoder
}

// A recorder keeps the events of a connection.
type recorder struct {
	mu     sync.Mutex
	limits []uint32
	aways  []GoAway
	doubts []bool
	ends   []error
	ended  chan struct{}
}

func newRecorder() *recorder { return &recorder{ended: make(chan struct{})} }

func (r *recorder) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *recorder) StreamLimit(n uint32) { r.note(func() { r.limits = append(r.limits, n) }) }
func (r *recorder) GoingAway(g GoAway)   { r.note(func() { r.aways = append(r.aways, g) }) }
func (r *recorder) Suspect(yes bool)     { r.note(func() { r.doubts = append(r.doubts, yes) }) }
func (r *recorder) ConnClosed(err error) {
	r.note(func() { r.ends = append(r.ends, err) })
	close(r.ended) // panics at the second time
}

// newRig makes a connection whose peer hasn't said anything yet.
func newRig(t *testing.T, opt Options) *rig {
	t.Helper()
	nc, peer := fakenet.Pipe()
	r := &rig{t: t, recorder: newRecorder(), nc: nc, peer: peer}
	r.c = NewConn(nc, &opt, r.recorder)
	r.fr = http2.NewFramer(peer, peer)
	r.fr.SetMaxReadFrameSize(1<<24 - 1)
	r.fr.AllowIllegalWrites = true
	r.init()
	t.Cleanup(func() {
		r.c.Close()
		peer.Close()
		<-r.ended
	})
	return r
}

// init makes the peer's coders.
func (r *rig) init() {
	r.enc = hpack.NewEncoder(&r.eb)
	r.dec = hpack.NewDecoder(4096, nil)
}

// newOpenRig is newRig with the prefaces exchanged.
func newOpenRig(t *testing.T, opt Options, ss ...http2.Setting) *rig {
	t.Helper()
	r := newRig(t, opt)
	r.hearsPreface()
	r.fr.WriteSettings(ss...)
	r.hearsSettingsAck()
	return r
}

func (r *rig) hearsPreface() {
	r.t.Helper()
	p := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(r.peer, p); err != nil || string(p) != http2.ClientPreface {
		r.t.Fatalf("preface %q, %v", p, err)
	}
	if f, ok := r.hears().(*http2.SettingsFrame); !ok || f.IsAck() {
		r.t.Fatalf("the preface's frame is %v", f)
	}
	if _, ok := r.hears().(*http2.WindowUpdateFrame); !ok {
		r.t.Fatal("no WINDOW_UPDATE behind the preface")
	}
}

func (r *rig) hearsSettingsAck() {
	r.t.Helper()
	if f, ok := r.hears().(*http2.SettingsFrame); !ok || !f.IsAck() {
		r.t.Fatalf("got %v, want an acknowledgement of SETTINGS", f)
	}
}

// hears returns the next frame.
func (r *rig) hears() http2.Frame {
	r.t.Helper()
	f, err := r.fr.ReadFrame()
	if err != nil {
		r.t.Fatalf("the peer's read: %v", err)
	}
	return f
}

// hearsHeaders wants a header section on stream id and returns its fields.
func (r *rig) hearsHeaders(id uint32, end bool) map[string]string {
	r.t.Helper()
	f, ok := r.hears().(*http2.HeadersFrame)
	if !ok {
		r.t.Fatalf("no HEADERS on stream %d", id)
	}
	if f.StreamID != id || f.StreamEnded() != end {
		r.t.Fatalf("HEADERS %v; want stream %d, END_STREAM %v", f, id, end)
	}
	block := append([]byte(nil), f.HeaderBlockFragment()...)
	for ended := f.HeadersEnded(); !ended; {
		cf := r.hears().(*http2.ContinuationFrame)
		block = append(block, cf.HeaderBlockFragment()...)
		ended = cf.HeadersEnded()
	}
	fields, err := r.dec.DecodeFull(block)
	if err != nil {
		r.t.Fatal(err)
	}
	m := make(map[string]string)
	for _, f := range fields {
		if old, ok := m[f.Name]; ok {
			f.Value = old + "|" + f.Value
		}
		m[f.Name] = f.Value
	}
	return m
}

func (r *rig) hearsData(id uint32, want string, end bool) {
	r.t.Helper()
	f, ok := r.hears().(*http2.DataFrame)
	if !ok || f.StreamID != id || string(f.Data()) != want || f.StreamEnded() != end {
		r.t.Fatalf("got %v %.100q, want DATA of stream %d, %.100q, END_STREAM %v", f, dataOf(f), id, want, end)
	}
}

func dataOf(f *http2.DataFrame) []byte {
	if f == nil {
		return nil
	}
	return f.Data()
}

func (r *rig) hearsReset(id uint32, code http2.ErrCode) {
	r.t.Helper()
	f := r.hears()
	if g, ok := f.(*http2.RSTStreamFrame); !ok || g.StreamID != id || g.ErrCode != code {
		r.t.Fatalf("got %v, want RST_STREAM of stream %d with %v", f, id, code)
	}
}

func (r *rig) hearsPing() [8]byte {
	r.t.Helper()
	f, ok := r.hears().(*http2.PingFrame)
	if !ok || f.IsAck() {
		r.t.Fatalf("got %v, want a PING", f)
	}
	return f.Data
}

func (r *rig) hearsWindow(id, n uint32) {
	r.t.Helper()
	f := r.hears()
	if g, ok := f.(*http2.WindowUpdateFrame); !ok || g.StreamID != id || g.Increment != n {
		r.t.Fatalf("got %v, want WINDOW_UPDATE of stream %d by %d", f, id, n)
	}
}

func (r *rig) hearsGoAway(code http2.ErrCode) {
	r.t.Helper()
	f := r.hears()
	if g, ok := f.(*http2.GoAwayFrame); !ok || g.LastStreamID != 0 || g.ErrCode != code {
		r.t.Fatalf("got %v, want GOAWAY of stream 0 with %v", f, code)
	}
}

// hearsNothing wants that nothing has arrived. In a bubble.
func (r *rig) hearsNothing() {
	r.t.Helper()
	synctest.Wait()
	if n := r.peer.Unread(); n > 0 {
		r.t.Fatalf("%d bytes have arrived: %v", n, r.hears())
	}
}

// hearsEnd wants nothing more from the client but its close.
func (r *rig) hearsEnd() {
	r.t.Helper()
	if f, err := r.fr.ReadFrame(); err == nil {
		r.t.Fatalf("got %v, want the end", f)
	}
}

func (r *rig) block(fields ...string) []byte {
	r.eb.Reset()
	for i := 0; i < len(fields); i += 2 {
		r.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return r.eb.Bytes()
}

// says sends a header section in one frame.
func (r *rig) says(id uint32, end bool, fields ...string) {
	r.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: true, BlockFragment: r.block(fields...)})
}

// ok sends an answer.
func (r *rig) ok(id uint32, body string) {
	r.says(id, body == "", ":status", "200")
	if body != "" {
		r.fr.WriteData(id, true, []byte(body))
	}
}

// An attempt is an exchange that runs in a goroutine.
type attempt struct {
	t    *testing.T
	x    Exchange
	ret  chan struct{} // closed when Start has returned
	resp *http.Response
	err  error
	ends chan wire.End
	told atomic.Int32
}

func (a *attempt) StreamDone(why wire.End) {
	if a.told.Add(1) > 1 {
		a.t.Errorf("StreamDone called again, with %v", why)
	}
	a.ends <- why
}

// start begins an exchange.
func (r *rig) start(req wire.Request) *attempt { return startOn(r.t, r.c, req) }

func startOn(t *testing.T, c *Conn, req wire.Request) *attempt {
	a := &attempt{t: t, ret: make(chan struct{}), ends: make(chan wire.End, 8)}
	go func() {
		defer close(a.ret)
		a.resp, a.err = a.x.Start(c, req, a)
	}()
	return a
}

// answer waits for Start and wants an answer with that status.
func (a *attempt) answer(status int) *http.Response {
	a.t.Helper()
	<-a.ret
	if a.err != nil {
		a.t.Fatalf("Start: %v", a.err)
	}
	if a.resp.StatusCode != status {
		a.t.Fatalf("status %d, want %d", a.resp.StatusCode, status)
	}
	return a.resp
}

// fails waits for Start and wants an error, and the owner to be told.
func (a *attempt) fails() error {
	a.t.Helper()
	<-a.ret
	if a.err == nil {
		a.t.Fatalf("Start succeeded with %v", a.resp.Status)
	}
	return a.err
}

// failsWith is fails with a target for errors.Is.
func (a *attempt) failsWith(target error) {
	a.t.Helper()
	if err := a.fails(); !errors.Is(err, target) {
		a.t.Fatalf("Start: %v, want %v", err, target)
	}
}

// reads wants the rest of the body.
func (a *attempt) reads(want string) {
	a.t.Helper()
	b, err := io.ReadAll(a.resp.Body)
	if string(b) != want || err != nil {
		a.t.Fatalf("body %.100q, %v; want %.100q", b, err, want)
	}
}

// wantEnd waits for the owner to be told.
func (a *attempt) wantEnd(want wire.End) {
	a.t.Helper()
	if why := <-a.ends; why != want {
		a.t.Fatalf("ended %v, want %v", why, want)
	}
}

// open wants that the owner hasn't been told. In a bubble.
func (a *attempt) open() {
	a.t.Helper()
	synctest.Wait()
	if a.told.Load() != 0 {
		a.t.Fatalf("ended %v, want it to go on", <-a.ends)
	}
}

func (a *attempt) wantFacts(want wire.Facts) {
	a.t.Helper()
	if f := a.x.Facts(); f != want {
		a.t.Errorf("facts\n got %+v\nwant %+v", f, want)
	}
}

func get(t *testing.T) wire.Request { return getCtx(t, context.Background()) }

func getCtx(t *testing.T, ctx context.Context) wire.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://example.com/p", nil)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Request{Request: req}
}

// post has a body of unknown length, unless it is small.
func post(t *testing.T, body io.Reader) wire.Request {
	t.Helper()
	return postCtx(t, context.Background(), body)
}

func postCtx(t *testing.T, ctx context.Context, body io.Reader) wire.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://example.com/p", body)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Request{Request: req}
}

func small(t *testing.T, body string) wire.Request {
	r := post(t, nil)
	r.Small = []byte(body)
	return r
}

// A testBody counts what is done to it, and fails the test if the contract is broken.
type testBody struct {
	t      *testing.T
	r      io.Reader
	closed atomic.Int32
	reads  atomic.Int32
}

func newBody(t *testing.T, s string) *testBody { return &testBody{t: t, r: strings.NewReader(s)} }

func (b *testBody) Read(p []byte) (int, error) {
	b.reads.Add(1)
	if b.closed.Load() > 0 {
		b.t.Error("body read after its Close")
	}
	return b.r.Read(p)
}

func (b *testBody) Close() error {
	if b.closed.Add(1) > 1 {
		b.t.Error("body closed twice")
	}
	if c, ok := b.r.(io.Closer); ok {
		c.Close()
	}
	return nil
}

func (b *testBody) wantClosed() {
	b.t.Helper()
	if n := b.closed.Load(); n != 1 {
		b.t.Errorf("body closed %d times, want once", n)
	}
}

// elapsed checks how long something took in a bubble.
func elapsed(t *testing.T, since time.Time, want time.Duration) {
	t.Helper()
	if d := time.Since(since); d != want {
		t.Errorf("took %v, want %v", d, want)
	}
}

// bubble runs f in a bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
