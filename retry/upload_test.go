package retry_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/connwise/retry"
)

// A counted body can be rewound.
type counted struct {
	*bytes.Reader
	reads, closes int
}

func (c *counted) Read(p []byte) (int, error) { c.reads++; return c.Reader.Read(p) }
func (c *counted) Close() error               { c.closes++; return nil }

// TestA6_Refused: with a refused connection a body that can't be rewound gets 1 attempt
// and 0 reads, a rewindable one 3 attempts.
func TestA6_Refused(t *testing.T) {
	o := newOrigin(t, true)
	for _, tt := range []struct {
		name     string
		body     func(*counted) io.ReadCloser
		attempts int
	}{
		{"one-shot", func(c *counted) io.ReadCloser { return readCloser{c, c} }, 1},
		{"rewindable", func(c *counted) io.ReadCloser { return c }, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &counted{Reader: bytes.NewReader([]byte("data"))}
			r := newRig(t, quick(retry.NeverTimeouts()), []string{refused, refused, refused}, nil)
			res := r.do("POST", o.url(), tt.body(c))
			r.wantRetries(res, tt.attempts-1)
			wantRefused(t, res.err)
			if c.reads != 0 || c.closes != 1 {
				t.Errorf("the body was read %d times and closed %d times, want 0 and 1", c.reads, c.closes)
			}
			if left := len(r.names.script); left != 3-tt.attempts {
				t.Errorf("%d attempts, want %d", 3-left, tt.attempts)
			}
		})
	}
	o.wantSeen()
}

// readCloser hides all but two methods.
type readCloser struct {
	io.Reader
	io.Closer
}

// TestA6_FileIsRewound: attempt 2 sends the file's identical bytes.
func TestA6_FileIsRewound(t *testing.T) {
	content := strings.Repeat("line of a file\n", 20_000)
	name := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	o := newOrigin(t, true, []string{cutFIN})
	r := newRig(t, quick(retry.Default()), nil, nil)
	r.wantOK(r.do("PUT", o.url(), f, "Idempotency-Key", "k"), 1)
	put := seen{method: "PUT", body: content}
	o.wantSeen(put, put)
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file was left open: %v", err)
	}
}
