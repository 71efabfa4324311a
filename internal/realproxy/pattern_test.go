//go:build proxies && unix

package realproxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// patternBlock is what bodies are made of. Its length is a prime, so that bytes that come
// out of place, or are another request's, don't go unnoticed.
var patternBlock = func() []byte {
	b := make([]byte, 65_521)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}()

// A pattern is the body of request id, or what is left of it.
type pattern struct {
	id   uint64
	left int64
}

// next returns the next n bytes or fewer, and at least one of those that are left.
func (p *pattern) next(n int) []byte {
	const step = 40_503 // bodies of neighbouring ids begin far from each other
	from := (p.id*step + uint64(len(patternBlock)) - uint64(p.left)%uint64(len(patternBlock))) % uint64(len(patternBlock))
	b := patternBlock[from:]
	b = b[:min(int64(len(b)), int64(n), p.left)]
	p.left -= int64(len(b))
	return b
}

// Read reads the pattern.
func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	return copy(b, p.next(len(b))), nil
}

var (
	errWrongByte = errors.New("a byte is wrong")
	errTooLong   = errors.New("it is too long")
	errTooShort  = errors.New("it is too short, though it ended well")
)

func isWrong(err error) bool {
	return errors.Is(err, errWrongByte) || errors.Is(err, errTooLong) || errors.Is(err, errTooShort)
}

// A matcher compares what is written to it with a pattern.
type matcher struct{ pattern }

// Write fails with the first difference.
func (m *matcher) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		want := m.next(len(b) - n)
		switch {
		case len(want) == 0:
			return n, errTooLong
		case !bytes.Equal(want, b[n:n+len(want)]):
			return n, errWrongByte
		}
		n += len(want)
	}
	return len(b), nil
}

// whole tells, after the last Write, whether anything is missing.
func (m *matcher) whole() error {
	if m.left > 0 {
		return errTooShort
	}
	return nil
}

func TestMatcherFindsEachDifference(t *testing.T) {
	const size = 200_000
	body, err := io.ReadAll(&pattern{7, size})
	if err != nil || len(body) != size {
		t.Fatalf("read %d bytes, %v", len(body), err)
	}
	match := func(id uint64, size int64, b []byte) error {
		m := &matcher{pattern{id, size}}
		for len(b) > 0 {
			n := min(len(b), 1000)
			if _, err := m.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
		return m.whole()
	}
	swapped := bytes.Clone(body)
	swapped[size-1] ^= 1
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"the same", match(7, size, body), nil},
		{"another request's", match(8, size, body), errWrongByte},
		{"one bit at the end", match(7, size, swapped), errWrongByte},
		{"a byte less", match(7, size, body[:size-1]), errTooShort},
		{"a byte more", match(7, size, append(body, 0)), errTooLong},
		{"a piece is missing", match(7, size, append(bytes.Clone(body[:50_000]), body[51_000:]...)), errWrongByte},
	} {
		if !errors.Is(c.err, c.want) || c.err == nil && c.want != nil {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
}
