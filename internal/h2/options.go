package h2

import (
	"time"

	"golang.org/x/net/http2"
)

// Options are shared by all connections of a transport. A Conn keeps the pointer; nobody
// changes what it points to.
type Options struct {
	// MaxHeaderBytes bounds an answer's head, with the interim answers before it that no
	// hook was given, as RFC 9113 section 6.5.2 counts it (32 bytes for each field on top of
	// name and value). The peer is told. Zero: 10 MiB.
	MaxHeaderBytes int64
	// HeaderTimeout is how long an answer's head may take once the whole request has been
	// written. Zero: no limit.
	HeaderTimeout time.Duration
	// ContinueTimeout is how long a body with "Expect: 100-continue" waits for the peer's
	// word. Zero: it doesn't wait.
	ContinueTimeout time.Duration
	// ReadStall ends a stream when a Read of its body gets no byte for so long. Zero: no
	// limit.
	ReadStall time.Duration
	// WriteStall ends the connection when it takes nothing of a piece of at most 16 KiB for so
	// long. Zero: no limit.
	WriteStall time.Duration
	// PingAfter is how long no frame may come while streams are open before the peer is asked
	// for a sign of life. Zero: it is never asked for that reason.
	PingAfter time.Duration
	// PingTimeout is how long the peer may keep silent after a PING before the connection is
	// over. Zero: 15 s.
	PingTimeout time.Duration
	// MaxReadFrameSize is the largest frame that the peer may send, in bytes. Zero: 16 KiB,
	// the least that may be told (RFC 9113 section 6.5.2).
	MaxReadFrameSize uint32
	// DecoderTable and EncoderTable bound the tables for the compression of header fields, in
	// bytes: of answers, which the peer is told, and of requests. Zero: 4 KiB.
	DecoderTable, EncoderTable uint32
	// StreamWindow is how much of an answer's body may be unread, in bytes. Zero: 4 MiB.
	StreamWindow int32
	// ConnWindow is how much of all bodies of a connection may be unread, in bytes. Zero: as
	// much as the streams' windows allow, so that an unread body never holds others up.
	ConnWindow int32
	// CountError is told of protocol errors and of what the peer ended, by a short name. It
	// must not block. May be nil.
	CountError func(string)
}

const (
	defaultMaxHeader    = 10 << 20
	defaultPingTimeout  = 15 * time.Second
	defaultFrame        = 16 << 10
	defaultTable        = 4 << 10
	defaultStreamWindow = 4 << 20
	// freeWindow is the connection's window where none was asked for. Its credit is given
	// back as bytes come, so that the streams' windows alone bound what is unread.
	freeWindow = 1 << 30
	// initialWindow is every window's size before the peer was told another (RFC 9113
	// section 6.9.2).
	initialWindow = 64<<10 - 1
	// DefaultStreams is how many streams a peer is taken to allow that doesn't say: RFC 9113
	// sets no limit then, but few peers serve more at a time.
	DefaultStreams = 1000
	// settingsTimeout bounds the wait for the peer's first frame.
	settingsTimeout = 10 * time.Second
)

// orElse returns v, or other if v is zero.
func orElse[T int64 | int32 | uint32 | time.Duration](v, other T) T {
	if v == 0 {
		return other
	}
	return v
}

func (o *Options) maxHeader() int64           { return orElse(o.MaxHeaderBytes, defaultMaxHeader) }
func (o *Options) pingTimeout() time.Duration { return orElse(o.PingTimeout, defaultPingTimeout) }
func (o *Options) readFrame() uint32          { return orElse(o.MaxReadFrameSize, defaultFrame) }
func (o *Options) decoderTable() uint32       { return orElse(o.DecoderTable, defaultTable) }
func (o *Options) encoderTable() uint32       { return orElse(o.EncoderTable, defaultTable) }
func (o *Options) streamWindow() int32        { return orElse(o.StreamWindow, defaultStreamWindow) }

func (o *Options) count(what string) {
	if o.CountError != nil {
		o.CountError(what)
	}
}

// settings are what the peer is told first.
func (o *Options) settings() []http2.Setting {
	list := min(o.maxHeader(), 1<<32-1)
	ss := []http2.Setting{
		{ID: http2.SettingEnablePush, Val: 0},
		{ID: http2.SettingInitialWindowSize, Val: uint32(o.streamWindow())},
		{ID: http2.SettingMaxHeaderListSize, Val: uint32(list)},
	}
	if n := o.readFrame(); n != defaultFrame {
		ss = append(ss, http2.Setting{ID: http2.SettingMaxFrameSize, Val: n})
	}
	if n := o.decoderTable(); n != defaultTable {
		ss = append(ss, http2.Setting{ID: http2.SettingHeaderTableSize, Val: n})
	}
	return ss
}
