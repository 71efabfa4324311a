package peer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxHeader bounds a request's head, and maxTrailer what follows a chunked body.
const (
	maxHeader  = 64 << 10
	maxTrailer = 4 << 10
)

// A request is what a Server keeps of one.
type request struct {
	id     uint64 // of HeaderID; zero without one
	head   bool   // HEAD: the answer has no body
	post   bool   // POST
	close  bool   // Connection: close, or HTTP/1.0
	length int64  // of the body; -1: chunked
	expect bool   // Expect: 100-continue

	body PatternCheck // of what was read of it
}

var errBadRequest = errors.New("peer: malformed request")

// readHead reads a request's head up to and with its empty line. It returns
// errBadRequest (wrapped) where the framing of RFC 9112 is broken, and what the
// reader returned where the connection ended.
func readHead(br *bufio.Reader) (request, error) {
	var q request
	line, err := readLine(br)
	if err != nil {
		return q, err
	}
	method, _, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasPrefix(line[max(0, len(line)-8):], []byte("HTTP/1.")) {
		return q, fmt.Errorf("%w: request line", errBadRequest)
	}
	q.head, q.post = string(method) == "HEAD", string(method) == "POST"
	q.close = line[len(line)-1] == '0'
	for size := len(line); ; size += len(line) + 2 {
		if line, err = readLine(br); err != nil || len(line) == 0 {
			return q, err
		}
		if size > maxHeader {
			return q, fmt.Errorf("%w: head too long", errBadRequest)
		}
		if err = q.field(line); err != nil {
			return q, err
		}
	}
}

// field takes one header line.
func (q *request) field(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("%w: header line", errBadRequest)
	}
	value = bytes.TrimSpace(value)
	switch {
	case is(name, HeaderID):
		q.id, _ = strconv.ParseUint(string(value), 10, 64) // another kind of id isn't counted
	case is(name, "Content-Length"):
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%w: Content-Length", errBadRequest)
		}
		q.length = n
	case is(name, "Transfer-Encoding"):
		if !is(value, "chunked") {
			return fmt.Errorf("%w: Transfer-Encoding", errBadRequest)
		}
		q.length = -1
	case is(name, "Connection"):
		q.close = q.close || is(value, "close")
	case is(name, "Expect"):
		q.expect = is(value, "100-continue")
	}
	return nil
}

func is(b []byte, s string) bool { return len(b) == len(s) && bytes.EqualFold(b, []byte(s)) }

// readLine returns a line without its end. It is valid until the next read, and
// not longer than br's buffer.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("%w: line too long", errBadRequest)
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// readBody reads the request's body, and keeps what its check says of it.
func (q *request) readBody(br *bufio.Reader) error {
	if q.length >= 0 {
		return q.take(br, q.length)
	}
	for {
		line, err := readLine(br)
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 63)
		if err != nil || n < 0 {
			return fmt.Errorf("%w: chunk size", errBadRequest)
		}
		if n == 0 {
			return readTrailer(br)
		}
		if err := q.take(br, n); err != nil {
			return err
		}
		if line, err = readLine(br); err != nil {
			return err
		} else if len(line) != 0 {
			return fmt.Errorf("%w: chunk end", errBadRequest)
		}
	}
}

func readTrailer(br *bufio.Reader) error {
	for size := 0; size <= maxTrailer; {
		line, err := readLine(br)
		if err != nil || len(line) == 0 {
			return err
		}
		size += len(line)
	}
	return fmt.Errorf("%w: trailer too long", errBadRequest)
}

// take reads n bytes of the body.
func (q *request) take(br *bufio.Reader, n int64) error {
	if n <= int64(br.Buffered()) { // the usual case, without io.CopyN's allocations
		b, _ := br.Peek(int(n))
		_, _ = q.body.Write(b)
		_, err := br.Discard(int(n))
		return err
	}
	_, err := io.CopyN(&q.body, br, n)
	return err
}
