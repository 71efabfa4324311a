package h1

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"

	"example.com/connwise/internal/wire"
)

// A meteredBody notes how much each Read asks for.
type meteredBody struct {
	io.Reader
	asked []int
}

func (m *meteredBody) Read(p []byte) (int, error) {
	m.asked = append(m.asked, len(p))
	return m.Reader.Read(p)
}

func (*meteredBody) Close() error { return nil }

// TestLongUploadsTakeLargePieces sends bodies across the point at which their buffer is
// replaced, and checks that not a byte is lost, and that short ones keep to the small buffer.
func TestLongUploadsTakeLargePieces(t *testing.T) {
	const long = fullUploads*uploadBuffer + 3*largeUpload + 77
	for _, tt := range []struct {
		name  string
		size  int
		sized bool
		most  int
	}{
		{"long, of known length", long, true, largeUpload},
		{"long, of unknown length", long, false, largeUpload},
		{"just too short", fullUploads * uploadBuffer, true, uploadBuffer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := make([]byte, tt.size)
			for i := range want {
				want[i] = byte(i % 251)
			}
			body := &meteredBody{Reader: bytes.NewReader(want)}
			req, err := http.NewRequest("POST", "http://example.com/p", body)
			if err != nil {
				t.Fatal(err)
			}
			if req.ContentLength = -1; tt.sized {
				req.ContentLength = int64(tt.size)
			}
			r := newRig(t, Options{})
			a := r.start(wire.Request{Request: req})
			got, err := http.ReadRequest(r.br)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(got.Body); err != nil || !bytes.Equal(b, want) {
				t.Errorf("%d bytes, %v; want the body's %d", len(b), err, len(want))
			}
			r.says(ok5)
			a.answer(200)
			a.reads("hello")
			a.wantEnd(wire.EndKept)
			if most := slices.Max(body.asked); most != tt.most {
				t.Errorf("asked for up to %d bytes at a time, want %d", most, tt.most)
			}
		})
	}
}
