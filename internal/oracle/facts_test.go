package oracle

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

var errLost = errors.New("lost")

// A scene is a run of one POST, made up of what its client and its peer have noted.
type scene struct {
	*run
	call *call
	link *link
}

func newScene(p proto) *scene {
	r := &run{client: connwise, proto: p, notes: newNotes(1), calls: make([]*call, 2)}
	c := &call{id: 1, method: "POST", traced: true, err: errLost}
	r.calls[1] = c
	return &scene{r, c, r.notes.open(way{1, 2})}
}

// fails adds an attempt that used the scene's connection.
func (s *scene) fails(claims bool) *attempt {
	a := &attempt{n: len(s.call.attempts), traced: true, made: true, err: errLost, claims: claims, end: time.Now(), left: time.Hour}
	a.uses = []use{{way: s.link.way, at: time.Now()}}
	s.call.attempts = append(s.call.attempts, a)
	return a
}

// arrives adds the arrival of an attempt.
func (s *scene) arrives(attempt int, stream uint32) *arrival {
	return s.notes.arrive(1, attempt, s.link, stream)
}

var h1, h2c = protos[0], protos[3]

// scenes are what a judge may see of a POST that failed, and what it should say.
var scenes = []struct {
	name  string
	proto proto
	play  func(*scene)
	want  tally // of counts that don't follow from the play
	proof proof // that has to be counted
}{
	{"executed, and claimed", h1, func(s *scene) { s.fails(true); s.arrives(0, 0).execute() }, tally{falsely: 1, unsaid: 1}, proofNone},
	{"executed, and not claimed", h1, func(s *scene) { s.fails(false); s.arrives(0, 0).execute() }, tally{}, proofNone},
	{"arrived, and lost", h1, func(s *scene) { s.fails(false); s.arrives(0, 0) }, tally{}, proofNone},
	{"refused, and not claimed", h2c, func(s *scene) { s.fails(false); s.arrives(0, 1).refused = true }, tally{unclaimed: 1, unretried: 1, avoidable: 1}, proofRefused},
	{"refused, not retried", h2c, func(s *scene) { s.fails(true); s.arrives(0, 1).refused = true }, tally{unretried: 1, avoidable: 1, unsaid: 1}, proofRefused},
	{"refused behind an interim answer", h2c, func(s *scene) {
		s.fails(false)
		v := s.arrives(0, 1)
		v.told, v.refused = true, true
	}, tally{}, proofNone},
	{"refused, and the connection cut", h2c, func(s *scene) {
		s.link.noteCut()
		s.fails(false)
		s.arrives(0, 1).refused = true
	}, tally{unheard: 1, avoidable: 1}, proofNone},
	{"above a GOAWAY, not claimed", h2c, func(s *scene) {
		s.fails(false)
		s.link.away, s.link.last = true, 1
		s.arrives(0, 3)
	}, tally{unclaimed: 1, unretried: 1, avoidable: 1}, proofGoAway},
	{"at a GOAWAY", h2c, func(s *scene) {
		s.fails(false)
		s.link.away, s.link.last = true, 3
		s.arrives(0, 3)
	}, tally{}, proofNone},
	{"no connection, out of time", h1, func(s *scene) {
		a := s.fails(true)
		a.uses, a.left = nil, 0
	}, tally{unsaid: 1}, proofNoConn},
	{"nothing sent, as the client knows", h1, func(s *scene) {
		s.fails(false).uses[0].conn = &watched{proto: h1}
	}, tally{unclaimed: 1, unretried: 1, avoidable: 1}, proofNoByte},
	{"something sent, as the client knows", h1, func(s *scene) {
		u := &s.fails(false).uses[0]
		u.conn, u.moved = &watched{proto: h1}, true
	}, tally{}, proofNone},
	{"nothing sent, as the peer knows", h1, func(s *scene) { s.fails(false); s.link.noteEnd() }, tally{unclaimed: 1, unretried: 1, avoidable: 1}, proofNoByte},
	{"something sent, as the peer knows", h1, func(s *scene) { s.fails(false); s.link.noteLoose(); s.link.noteEnd() }, tally{}, proofNone},
	{"nobody knows what was sent", h1, func(s *scene) { s.fails(false) }, tally{}, proofNone},
	{"no stream, as the client knows", h2c, func(s *scene) {
		s.fails(false).uses[0].conn = &watched{proto: h2c}
	}, tally{unclaimed: 1, unretried: 1, avoidable: 1}, proofNoHead},
	{"a stream, as the client knows", h2c, func(s *scene) {
		w := &watched{proto: h2c}
		w.frames.heads.Store(1)
		s.fails(false).uses[0].conn = w
	}, tally{}, proofNone},
	{"executed twice", h1, func(s *scene) {
		s.fails(false)
		s.fails(false)
		s.arrives(0, 0).execute()
		s.arrives(1, 0).execute()
	}, tally{twice: 1, again: 1}, proofNone},
	{"executed, then sent again and refused", h2c, func(s *scene) {
		s.fails(false)
		s.fails(true)
		s.arrives(0, 1).execute()
		s.arrives(1, 3).refused = true
	}, tally{again: 1, unretried: 1}, proofRefused},
	{"executed, while an earlier one arrives above a GOAWAY", h2c, func(s *scene) {
		s.fails(true)
		s.fails(false)
		s.arrives(1, 1).execute()
		s.link.away, s.link.last = true, 1
		s.arrives(0, 3)
	}, tally{}, proofGoAway},
	{"answered, and never executed", h1, func(s *scene) { s.call.err, s.call.status = nil, 200 }, tally{lost: 1}, proofNone},
}

func TestJudge(t *testing.T) {
	for _, test := range scenes {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(test.proto)
			test.play(s)
			got := s.judge()
			if n := got.provables(); n != 0 && (n != 1 || got.provable[test.proof] != 1) || n == 0 && test.proof != proofNone {
				t.Errorf("provable %v, want one of %q", got.provable, proofNames[test.proof])
			}
			if g, w := got.faults(), test.want.faults(); g != w {
				t.Errorf("faults %v, want %v", g, w)
			}
		})
	}
}

// faults are the counts that tell of something.
func (t *tally) faults() [11]int {
	return [...]int{t.twice, t.again, t.lost, t.wrong, t.spoilt, t.falsely, t.unclaimed, t.unretried, t.unsaid, t.avoidable, t.unheard}
}

// Streams are counted in whatever pieces they are written.
func TestFramesCountsStreams(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&b, nil)
	fr.WriteSettings(http2.Setting{ID: http2.SettingEnablePush})
	for _, id := range []uint32{1, 3} {
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: make([]byte, 20), EndHeaders: true})
		fr.WriteData(id, true, make([]byte, 300))
	}
	for size := 1; size < b.Len(); size++ {
		var f frames
		for p := b.Bytes(); len(p) > 0; p = p[min(size, len(p)):] {
			f.take(p[:min(size, len(p))])
		}
		if n := f.heads.Load(); n != 2 || f.torn.Load() {
			t.Fatalf("in pieces of %d: %d streams, torn %v; want 2, false", size, n, f.torn.Load())
		}
	}
	var f frames
	f.take(b.Bytes()[:len(http2.ClientPreface)+3])
	if !f.torn.Load() {
		t.Error("a frame's head that was accepted in part isn't noted")
	}
}
