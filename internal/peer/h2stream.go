package peer

import (
	"fmt"
	"strconv"

	"golang.org/x/net/http2"
)

// maxResets bounds the memory of streams that were reset.
const maxResets = 1 << 12

// An h2Stream is open: the client hasn't ended or reset it, or the answer isn't out.
type h2Stream struct {
	req     H2Request
	in, out bool   // ended by the client, by the server
	recv    int    // what the client may still send
	send    int    // what the server may still send
	rest    []byte // of the answer: waits for window
}

// h2Streams are a connection's streams and windows. H2Conn.mu guards them.
type h2Streams struct {
	open  map[uint32]*h2Stream
	last  uint32              // the highest that the client opened
	done  uint32              // the highest whose request was executed
	reset map[uint32]struct{} // the client ended them by RST_STREAM; some of the latest

	recv, send         int // the connection's windows
	recvStart, recvMax int // of a new stream: as announced, and the largest that a client may believe in
	sendStart          int

	limit    int   // of open streams, acknowledged; -1: none
	expected []int // limits whose acknowledgement is to come; -1: SETTINGS without one
}

func (s *h2Streams) init() {
	*s = h2Streams{
		open: make(map[uint32]*h2Stream), reset: make(map[uint32]struct{}), limit: -1,
		recv: h2Window, send: h2Window, recvStart: h2Window, recvMax: h2Window, sendStart: h2Window,
	}
}

// announce remembers what is about to be sent in SETTINGS.
func (s *h2Streams) announce(ss []http2.Setting) {
	limit := -1
	for _, v := range ss {
		switch v.ID {
		case http2.SettingMaxConcurrentStreams:
			limit = int(min(v.Val, 1<<31-1))
		case http2.SettingInitialWindowSize:
			for _, st := range s.open {
				st.recv += int(v.Val) - s.recvStart
			}
			s.recvStart = int(v.Val)
			s.recvMax = max(s.recvMax, s.recvStart)
		}
	}
	s.expected = append(s.expected, limit)
}

// acknowledged is called for the client's SETTINGS with the flag ACK.
func (s *h2Streams) acknowledged() error {
	if len(s.expected) == 0 {
		return fmt.Errorf("SETTINGS acknowledged that were not sent")
	}
	if s.expected[0] >= 0 {
		s.limit = s.expected[0]
	}
	s.expected = s.expected[1:]
	return nil
}

// spend takes n bytes out of the windows for sending.
func (s *h2Streams) spend(stream uint32, n int) {
	s.send -= n
	if st := s.open[stream]; st != nil {
		st.send -= n
	}
}

// grant adds n bytes to a window for receiving.
func (s *h2Streams) grant(stream uint32, n int) {
	if stream == 0 {
		s.recv += n
	} else if st := s.open[stream]; st != nil {
		st.recv += n
	}
}

// add takes a new stream. It returns what is wrong with it.
func (s *h2Streams) add(f *H2Frame) (*h2Stream, error) {
	var err error
	switch {
	case f.StreamID%2 == 0:
		err = fmt.Errorf("stream %d has an even number", f.StreamID)
	case s.limit >= 0 && len(s.open) >= s.limit:
		err = fmt.Errorf("stream %d opened while %d are open, of %d", f.StreamID, len(s.open), s.limit)
	}
	s.last = f.StreamID
	st := &h2Stream{req: H2Request{Stream: f.StreamID, Fields: f.Fields}, recv: s.recvMax, send: s.sendStart}
	st.req.ID, _ = strconv.ParseUint(st.req.Field("x-request-id"), 10, 64) // another kind of id isn't counted
	s.open[f.StreamID] = st
	return st, err
}

// data takes DATA, and returns what is wrong with it. The stream is nil when it isn't open.
func (s *h2Streams) data(f *H2Frame, keep int) (*h2Stream, error) {
	n := int(f.Length)
	s.recv -= n
	st := s.open[f.StreamID]
	if st == nil {
		return nil, s.closed(f)
	}
	st.recv -= n
	st.req.Size += int64(len(f.Data))
	_, _ = st.req.check.Write(f.Data)
	if room := keep - len(st.req.Body); room > 0 {
		st.req.Body = append(st.req.Body, f.Data[:min(room, len(f.Data))]...)
	}
	if s.recv < 0 || st.recv < 0 {
		return st, fmt.Errorf("DATA on stream %d beyond the window", f.StreamID)
	}
	return st, nil
}

// closed returns what is wrong with a frame on a stream that isn't open: nothing, if the
// server has ended it and the client may not have known.
func (s *h2Streams) closed(f *H2Frame) error {
	if f.StreamID > s.last {
		return fmt.Errorf("%v on stream %d, which was never opened", f.Type, f.StreamID)
	}
	if _, ok := s.reset[f.StreamID]; ok {
		return fmt.Errorf("%v on stream %d behind its RST_STREAM", f.Type, f.StreamID)
	}
	return nil
}

// noteReset remembers a stream that the client has reset.
func (s *h2Streams) noteReset(stream uint32) {
	if len(s.reset) == maxResets {
		clear(s.reset)
	}
	s.reset[stream] = struct{}{}
}

// complete ends the client's side of a stream, and checks the request's length.
func (st *h2Stream) complete() error {
	st.in = true
	want := st.req.Field("content-length")
	if n, err := strconv.ParseInt(want, 10, 64); want != "" && (err != nil || n != st.req.Size) {
		return fmt.Errorf("stream %d has content-length %s and %d bytes", st.req.Stream, want, st.req.Size)
	}
	return nil
}

// window takes a WINDOW_UPDATE.
func (s *h2Streams) window(f *H2Frame) {
	if f.StreamID == 0 {
		s.send += int(f.Add)
	} else if st := s.open[f.StreamID]; st != nil {
		st.send += int(f.Add)
	}
}

// resize takes a new SETTINGS_INITIAL_WINDOW_SIZE of the client's.
func (s *h2Streams) resize(n int) {
	for _, st := range s.open {
		st.send += n - s.sendStart
	}
	s.sendStart = n
}
