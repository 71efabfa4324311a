package peer

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// An H2Frame is a frame that a client sent, as a value. Which fields are set goes by
// the frame's Type.
type H2Frame struct {
	http2.FrameHeader

	Fields   []hpack.HeaderField // HEADERS, with its CONTINUATIONs
	Data     []byte              // the content of DATA without padding, PING and GOAWAY; valid until the next Read
	Settings []http2.Setting     // SETTINGS
	Code     http2.ErrCode       // RST_STREAM, GOAWAY
	Last     uint32              // GOAWAY: the last stream id
	Add      uint32              // WINDOW_UPDATE

	// Request is the request that this frame completed; nil for most frames.
	Request *H2Request

	opened bool // HEADERS: of a new stream
}

// Ack reports whether this is the acknowledgement of a SETTINGS or a PING.
func (f *H2Frame) Ack() bool {
	return (f.Type == http2.FrameSettings || f.Type == http2.FramePing) && f.Flags.Has(http2.FlagSettingsAck)
}

// End reports whether the frame ends the client's side of its stream.
func (f *H2Frame) End() bool {
	return (f.Type == http2.FrameHeaders || f.Type == http2.FrameData) && f.Flags.Has(http2.FlagDataEndStream)
}

func newH2Frame(fr http2.Frame) *H2Frame {
	f := &H2Frame{FrameHeader: fr.Header()}
	switch fr := fr.(type) {
	case *http2.MetaHeadersFrame:
		f.Fields = fr.Fields
	case *http2.DataFrame:
		f.Data = fr.Data()
	case *http2.PingFrame:
		f.Data = fr.Data[:]
	case *http2.GoAwayFrame:
		f.Data, f.Code, f.Last = fr.DebugData(), fr.ErrCode, fr.LastStreamID
	case *http2.RSTStreamFrame:
		f.Code = fr.ErrCode
	case *http2.WindowUpdateFrame:
		f.Add = fr.Increment
	case *http2.SettingsFrame:
		for i := range fr.NumSettings() {
			f.Settings = append(f.Settings, fr.Setting(i))
		}
	}
	return f
}

// An H2Request is a request that was received completely.
type H2Request struct {
	Stream uint32
	ID     uint64 // of HeaderID; zero without one
	Fields []hpack.HeaderField
	Body   []byte // its first H2Options.KeepBody bytes
	Size   int64  // of the body

	executed bool
	check    PatternCheck
}

// Field returns the first field of that name, ":method" included; empty without one.
func (q *H2Request) Field(name string) string {
	for _, f := range q.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}
