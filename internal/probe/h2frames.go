package probe

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// preface writes what a client says first, in one segment (RFC 9113 section 3.4).
func (s *h2session) preface() error {
	var b bytes.Buffer
	b.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&b, nil)
	err := errors.Join(
		fr.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
			http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: s.fr.MaxHeaderListSize},
		),
		fr.WriteWindowUpdate(0, connWindow-(64<<10-1)),
	)
	if err != nil {
		return err
	}
	_, err = s.rw.Write(b.Bytes())
	return err
}

// fieldsOf is a request's header section.
func fieldsOf(req *http.Request) []hpack.HeaderField {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	fs := []hpack.HeaderField{
		{Name: ":method", Value: req.Method},
		{Name: ":scheme", Value: req.URL.Scheme},
		{Name: ":authority", Value: host},
		{Name: ":path", Value: req.URL.RequestURI()},
	}
	names := make([]string, 0, len(req.Header))
	for name := range req.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range req.Header[name] {
			fs = append(fs, hpack.HeaderField{Name: strings.ToLower(name), Value: v, Sensitive: name == "Authorization"})
		}
	}
	return fs
}

// next reads a frame and does what the protocol wants. It reports whether the frame ended the
// stream that is open. A frame of its own that can't be written is no error: reading tells
// how the connection ended.
func (s *h2session) next() (done bool, err error) {
	f, err := s.fr.ReadFrame()
	if err != nil {
		return false, unexpected(err)
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		s.onSettings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = s.fr.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame:
		s.onGoAway(f)
	case *http2.MetaHeadersFrame:
		s.onHeaders(f)
		return s.ends(f.StreamID, f.StreamEnded()), nil
	case *http2.DataFrame:
		s.onData(f)
		return s.ends(f.StreamID, f.StreamEnded()), nil
	case *http2.RSTStreamFrame:
		if s.ends(f.StreamID, true) {
			return false, fmt.Errorf("the server reset the stream: %v", f.ErrCode)
		}
	}
	return false, nil
}

// ends reports whether the stream that is open ends with a frame of stream id.
func (s *h2session) ends(id uint32, end bool) bool {
	if !end || id != s.current {
		return false
	}
	s.current = 0
	return true
}

func (s *h2session) onSettings(f *http2.SettingsFrame) {
	if f.IsAck() {
		return
	}
	s.settled = true
	_ = f.ForeachSetting(func(set http2.Setting) error {
		switch set.ID {
		case http2.SettingMaxConcurrentStreams:
			s.streams = &set.Val
		case http2.SettingHeaderTableSize:
			s.enc.SetMaxDynamicTableSize(min(set.Val, 4<<10))
		}
		return nil
	})
	_ = s.fr.WriteSettingsAck()
}

func (s *h2session) onGoAway(f *http2.GoAwayFrame) {
	if len(s.goAways) < maxGoAways {
		s.goAways = append(s.goAways, goAwayAt{
			GoAway{LastStream: f.LastStreamID, Code: f.ErrCode.String(), Debug: s.mask.word(string(f.DebugData()))},
			time.Now(),
		})
	}
}

// onHeaders takes the head of an answer; trailers have no status.
func (s *h2session) onHeaders(f *http2.MetaHeadersFrame) {
	status, err := strconv.Atoi(f.PseudoValue("status"))
	if err != nil || status < 200 || f.StreamID != s.current {
		return
	}
	s.answered.status = status
	s.answered.header = make(http.Header)
	for _, h := range f.RegularFields() {
		s.answered.header.Add(h.Name, h.Value)
	}
}

// onData gives back what was used of the connection's window. A stream's lasts for an answer.
func (s *h2session) onData(f *http2.DataFrame) {
	if s.spent += f.Length; s.spent >= connWindow/4 {
		_ = s.fr.WriteWindowUpdate(0, s.spent)
		s.spent = 0
	}
}
