package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// Frames are appended to what waits to be written, so that many leave with one Write and
// nothing is copied twice (RFC 9113 section 4.1).

const frameHead = 9

func appendHead(b []byte, n int, t http2.FrameType, f http2.Flags, id uint32) []byte {
	b = append(b, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(f))
	return binary.BigEndian.AppendUint32(b, id)
}

// putHead writes a frame's head into room that was left for it.
func putHead(b []byte, n int, t http2.FrameType, f http2.Flags, id uint32) {
	appendHead(b[:0], n, t, f, id)
}

func appendSettings(b []byte, ss []http2.Setting) []byte {
	b = appendHead(b, 6*len(ss), http2.FrameSettings, 0, 0)
	for _, s := range ss {
		b = binary.BigEndian.AppendUint16(b, uint16(s.ID))
		b = binary.BigEndian.AppendUint32(b, s.Val)
	}
	return b
}

func appendSettingsAck(b []byte) []byte {
	return appendHead(b, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
}

func appendPing(b []byte, f http2.Flags, data [8]byte) []byte {
	return append(appendHead(b, 8, http2.FramePing, f, 0), data[:]...)
}

func appendWindow(b []byte, id, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, http2.FrameWindowUpdate, 0, id), n)
}

func appendReset(b []byte, id uint32, code http2.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, http2.FrameRSTStream, 0, id), uint32(code))
}

// appendGoAway says that this side ends the connection. The last id is zero, as no stream of
// the peer's was ever processed: there is no push.
func appendGoAway(b []byte, code http2.ErrCode) []byte {
	b = appendHead(b, 8, http2.FrameGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, 0)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// splitBlock makes frames of the header block that was appended to b at start, behind room
// for the head of the first: HEADERS, and CONTINUATIONs for what is beyond max bytes.
func splitBlock(b []byte, start int, id uint32, end bool, max int) []byte {
	var flags http2.Flags
	if end {
		flags = http2.FlagHeadersEndStream
	}
	block := b[start+frameHead:]
	if len(block) <= max {
		putHead(b[start:], len(block), http2.FrameHeaders, flags|http2.FlagHeadersEndHeaders, id)
		return b
	}
	putHead(b[start:], max, http2.FrameHeaders, flags, id)
	rest := append([]byte(nil), block[max:]...)
	b = b[:start+frameHead+max]
	for len(rest) > 0 {
		n := min(max, len(rest))
		flags = 0
		if n == len(rest) {
			flags = http2.FlagContinuationEndHeaders
		}
		b = appendHead(b, n, http2.FrameContinuation, flags, id)
		b = append(b, rest[:n]...)
		rest = rest[n:]
	}
	return b
}

func appendDataHead(b []byte, n int, end bool, id uint32) []byte {
	var f http2.Flags
	if end {
		f = http2.FlagDataEndStream
	}
	return appendHead(b, n, http2.FrameData, f, id)
}
