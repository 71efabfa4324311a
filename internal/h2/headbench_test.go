package h2

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/net/http2/hpack"

	"example.com/connwise/internal/wire"
)

// BenchmarkWriteHead is what it costs to make a request's header section and to encode it, by
// how many fields it has beside those that every one has. The fields are the same each time,
// as with most clients, so that the encoder's table has them.
func BenchmarkWriteHead(b *testing.B) {
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("fields=%d", n), func(b *testing.B) {
			req, err := http.NewRequest("GET", "https://example.com/v1/things/12345?verbose=true", nil)
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				req.Header.Set(fmt.Sprintf("X-Field-%d", i), "a value as long as most of them")
			}
			r := wire.Request{Request: req, Gzip: true}
			var out bytes.Buffer
			enc := hpack.NewEncoder(&out)
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				s := newSection()
				if err := (fieldWriter{fieldList: s.fieldList}).writeRequest(&r, 0); err != nil {
					b.Fatal(err)
				}
				for _, f := range s.list {
					_ = enc.WriteField(f) // a bytes.Buffer takes all
				}
				s.drop()
			}
		})
	}
}

// BenchmarkReadHead is what it costs to decode an answer's header block and to make the answer
// of it, by how many fields it has.
func BenchmarkReadHead(b *testing.B) {
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprintf("fields=%d", n), func(b *testing.B) {
			var blocks bytes.Buffer
			enc := hpack.NewEncoder(&blocks)
			encode := func() []byte {
				blocks.Reset()
				_ = enc.WriteField(field{Name: ":status", Value: "200"})
				for i := range n {
					_ = enc.WriteField(field{Name: fmt.Sprintf("x-field-%d", i), Value: "a value as long as most of them"})
				}
				return bytes.Clone(blocks.Bytes())
			}
			c := &Conn{opt: &Options{}}
			c.dec = hpack.NewDecoder(4096, c.onField)
			read := func(p []byte) {
				x := new(Exchange)
				c.blk = block{x: x}
				if err := c.decode(p); err != nil || c.dec.Close() != nil || c.blk.err != nil {
					b.Fatal(err, c.blk.err)
				}
				fillAnswer(&x.resp, 200, &c.blk)
				if len(x.resp.Header) != n {
					b.Fatalf("%d fields, want %d", len(x.resp.Header), n)
				}
			}
			read(encode())
			again := encode() // from the table alone
			b.ReportAllocs()
			for b.Loop() {
				read(again)
			}
		})
	}
}
