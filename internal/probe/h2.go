package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	streamWindow = maxAnswer
	connWindow   = 1 << 30
	maxIdleRead  = 64 << 10 // bytes of frames that a peer may send while nothing is asked
)

// An h2session is HTTP/2 on a link, one stream at a time. It shows what a client's mux smooths
// over: each GOAWAY, and what comes behind it.
type h2session struct {
	*link
	fr      *http2.Framer
	enc     *hpack.Encoder
	block   bytes.Buffer // enc's
	fields  []hpack.HeaderField
	timeout time.Duration
	began   time.Time

	nextID   uint32
	settled  bool    // the first SETTINGS have come
	streams  *uint32 // SETTINGS_MAX_CONCURRENT_STREAMS
	goAways  []goAwayAt
	spent    uint32 // of the connection's window
	current  uint32 // the stream that is open; zero: none
	answered answer // its
}

// A goAwayAt is a GOAWAY and when it came.
type goAwayAt struct {
	GoAway
	at time.Time
}

// maxGoAways bounds those that are kept: two are what the protocol has a use for.
const maxGoAways = 8

// newH2 begins HTTP/2 and waits for the peer's SETTINGS.
func newH2(ctx context.Context, l *link, req *http.Request, timeout time.Duration) (*h2session, error) {
	s := &h2session{link: l, timeout: timeout, nextID: 1, fields: fieldsOf(req)}
	s.fr = http2.NewFramer(l.rw, l.br)
	s.fr.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	s.fr.MaxHeaderListSize = 64 << 10
	s.fr.SetMaxReadFrameSize(16 << 10)
	s.enc = hpack.NewEncoder(&s.block)
	defer l.allow(ctx, maxIdleRead, time.Now().Add(timeout))()
	if err := s.preface(); err != nil {
		return nil, l.lost(ctx, err)
	}
	for !s.settled {
		if _, err := s.next(); err != nil {
			return nil, fmt.Errorf("no HTTP/2 here: %w", l.lost(ctx, err))
		}
	}
	s.began = time.Now()
	return s, nil
}

func (s *h2session) ask(ctx context.Context) (answer, error) {
	defer s.allow(ctx, maxAnswer, time.Now().Add(s.timeout))()
	id := s.nextID
	s.nextID += 2
	s.current, s.answered = id, answer{proto: "HTTP/2.0"}
	werr := s.open(id)
	for {
		done, err := s.next()
		if err != nil {
			if s.word(err) == "" && werr != nil {
				err = werr
			}
			return s.answered, s.endOf(s.lost(ctx, err))
		}
		if done {
			break
		}
		if n := len(s.goAways); n > 0 && s.goAways[n-1].LastStream < id {
			return s.answered, s.endOf(&endError{wordGoAway})
		}
	}
	if s.answered.status == 0 {
		return s.answered, errors.New("the server's answer has no status")
	}
	s.began = s.wire.last
	a := s.answered
	a.size = maxAnswer - s.room
	if len(s.goAways) > 0 {
		a.last = wordGoAway
	}
	return a, nil
}

// endOf adds the GOAWAY that came before the end.
func (s *h2session) endOf(err error) error {
	if end, ok := errors.AsType[*endError](err); ok && len(s.goAways) > 0 && end.words != wordGoAway {
		return &endError{wordGoAway + ", " + end.words}
	}
	return err
}

// open sends a request; none has a body.
func (s *h2session) open(id uint32) error {
	s.block.Reset()
	for _, f := range s.fields {
		if err := s.enc.WriteField(f); err != nil {
			return err
		}
	}
	return s.fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: s.block.Bytes(), EndStream: true, EndHeaders: true,
	})
}

func (s *h2session) watch(ctx context.Context, most time.Duration) ending {
	e := ending{began: s.began}
	s.read(ctx, &e, most)
	for _, g := range s.goAways {
		g.Age = Millis(g.at.Sub(e.began))
		e.goAways = append(e.goAways, g.GoAway)
	}
	e.outlast(ctx, s.link)
	return e
}

// read reads frames until the connection ends. Once a GOAWAY has come, its end is waited for
// a little longer.
func (s *h2session) read(ctx context.Context, e *ending, most time.Duration) {
	done := s.allow(ctx, maxIdleRead, s.began.Add(most))
	defer func() { done() }()
	for {
		if n := len(s.goAways); n > 0 && !e.ended() {
			e.say(wordGoAway, s.goAways[0].at)
			done()
			done = s.allow(ctx, maxIdleRead, s.goAways[0].at.Add(s.linger))
		}
		if _, err := s.next(); err != nil {
			e.over(ctx, s.link, err)
			return
		}
	}
}

// Close says goodbye (RFC 9113 section 6.8).
func (s *h2session) Close() error {
	_ = s.wire.SetDeadline(time.Now().Add(time.Second))
	_ = s.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
	return s.link.Close()
}
