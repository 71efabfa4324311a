package pool

import "bytes"

// maxMethod bounds the length of a method. The longest that is registered has 17 letters.
const maxMethod = 24

// longLine is the length from which on a write may end in the middle of a request line: who
// writes HTTP does it through a buffer that has room for most.
const longLine = 1024

// beginsRequest tells whether p begins with a request line of HTTP/1, or with a part of a long one.
// A body in the middle of which somebody pauses hardly goes on with one, though it may well
// with two words; and a frame of another protocol doesn't begin with a method.
func beginsRequest(p []byte) bool {
	i := bytes.IndexByte(p[:min(len(p), maxMethod+1)], ' ')
	if i < 1 {
		return false
	}
	for _, b := range p[:i] {
		if !isToken(b) {
			return false
		}
	}
	line, _, whole := bytes.Cut(p[i+1:], []byte("\n"))
	if !whole {
		return len(p) >= longLine && isTarget(line)
	}
	target, version, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(" "))
	return ok && len(target) > 0 && bytes.HasPrefix(version, []byte("HTTP/1."))
}

// isTarget tells whether p begins as request targets do that may be long: with a path or a scheme.
func isTarget(p []byte) bool { return p[0] == '/' || bytes.HasPrefix(p, []byte("http")) }

// isToken is for the letters of methods that are in use.
func isToken(b byte) bool {
	return 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || b == '-' || b == '_'
}

// A headScanner looks for the final answer in what follows a request: interim answers
// (1xx) are none, and 101 ends HTTP (RFC 9110 section 15.2). The zero value is at the
// beginning. It keeps nothing but the beginning of a status line.
type headScanner struct {
	line     [len("HTTP/1.1 100")]byte
	n        int  // bytes in line
	interim  bool // it skips the rest of an interim answer's head
	newlines int  // in a row
}

// scan takes the next bytes. It is over when one of the results is true: the final answer
// has begun (so has what isn't HTTP/1 at all), or the protocol was switched.
func (s *headScanner) scan(p []byte) (final, switched bool) {
	for _, b := range p {
		switch {
		case s.interim:
			s.skip(b)
		case s.n == 0 && (b == '\r' || b == '\n'): // some send an empty line too many
		default:
			s.line[s.n] = b
			if s.n++; s.n < len(s.line) {
				continue
			}
			if final, switched = s.status(); final || switched {
				return final, switched
			}
			*s = headScanner{interim: true}
		}
	}
	return false, false
}

// status reads the status line's beginning.
func (s *headScanner) status() (final, switched bool) {
	code, ok := bytes.CutPrefix(s.line[:], []byte("HTTP/1."))
	switch {
	case !ok, code[1] != ' ', code[2] != '1':
		return true, false
	}
	return false, string(code[2:]) == "101"
}

// skip looks for the empty line at the end of a head.
func (s *headScanner) skip(b byte) {
	switch b {
	case '\r':
	case '\n':
		if s.newlines++; s.newlines == 2 {
			*s = headScanner{}
		}
	default:
		s.newlines = 0
	}
}
