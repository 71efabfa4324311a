package probe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/connwise/health"
)

// An h1session is HTTP/1.1 on a link.
type h1session struct {
	*link
	req     *http.Request
	text    []byte        // req as it is sent
	timeout time.Duration // of an answer
	began   time.Time     // of the idle age
}

func newH1(l *link, req *http.Request, timeout time.Duration) (*h1session, error) {
	req = req.Clone(context.Background())
	req.Header.Set("Connection", "keep-alive") // some tell their timeout only to those who say so
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	return &h1session{link: l, req: req, text: b.Bytes(), timeout: timeout, began: time.Now()}, nil
}

func (s *h1session) ask(ctx context.Context) (answer, error) {
	defer s.allow(ctx, maxAnswer, time.Now().Add(s.timeout))()
	_, werr := s.rw.Write(s.text)
	// After a failed write too: an answer may be there, or at least how the peer ended it.
	resp, err := s.readHead()
	if err != nil {
		if s.word(err) == "" && werr != nil {
			err = werr
		}
		return answer{}, s.lost(ctx, err)
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	s.began = s.wire.last
	a := answer{status: resp.StatusCode, proto: resp.Proto, header: resp.Header, size: maxAnswer - s.room}
	if resp.Close {
		a.last = "connection: close"
	}
	if err != nil {
		return a, s.lost(ctx, err)
	}
	return a, nil
}

// readHead reads up to the head of the final answer. The link's meter bounds the interim ones.
func (s *h1session) readHead() (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(s.br, s.req)
		if err != nil {
			return nil, unexpected(err)
		}
		if resp.StatusCode >= 200 {
			return resp, nil
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return nil, fmt.Errorf("the server switches protocols, which nobody asked for")
		}
	}
}

// unexpected takes back what http.ReadResponse makes of an EOF: link.word knows better.
func unexpected(err error) error {
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}

func (s *h1session) watch(ctx context.Context, most time.Duration) ending {
	e := ending{began: s.began}
	func() {
		defer s.allow(ctx, maxAnswer, s.began.Add(most))()
		if _, err := s.br.Peek(1); err != nil {
			e.over(ctx, s.link, err)
			return
		}
		s.surplus(&e)
		defer s.allow(ctx, maxAnswer, e.at.Add(s.linger))()
		_, err := io.Copy(io.Discard, s.br)
		if err == nil {
			err = io.EOF
		}
		e.over(ctx, s.link, err)
	}()
	e.outlast(ctx, s.link)
	return e
}

// surplus names what has come without having been asked for.
func (s *h1session) surplus(e *ending) {
	at := s.wire.last
	head, _ := s.br.Peek(len("HTTP/1.1 408"))
	if health.IsRequestTimeout(head) {
		e.say(word408, at)
		return
	}
	e.say(wordSurplus, at)
}
