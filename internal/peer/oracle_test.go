package peer

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestOracleCounts(t *testing.T) {
	var o oracle
	for _, id := range []uint64{1, 2, 3, 5, 5, 1 << 40, 1<<40 + 1, 0} {
		o.execute(id)
	}
	want := Executions{{1, 3, 1}, {5, 1, 2}, {1 << 40, 2, 1}}
	got := o.executions()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("executions %v, want %v", got, want)
	}
	if o.total != 8 || o.uncounted != 1 {
		t.Errorf("total %d, uncounted %d, want 8 and 1", o.total, o.uncounted)
	}
	for id, n := range map[uint64]int{0: 0, 1: 1, 3: 1, 4: 0, 5: 2, 6: 0, 1 << 40: 1, 1<<40 + 1: 1, 1<<40 + 2: 0} {
		if c := got.Count(id); c != n {
			t.Errorf("Count(%d) = %d, want %d", id, c, n)
		}
	}
}

// TestOracleRunsCrossPages checks that a run doesn't end where a page does.
func TestOracleRunsCrossPages(t *testing.T) {
	var o oracle
	for id := uint64(1); id <= 3*pageSize; id++ {
		o.execute(id)
	}
	if got, want := o.executions(), (Executions{{1, 3 * pageSize, 1}}); !reflect.DeepEqual(got, want) {
		t.Errorf("executions %v, want %v", got, want)
	}
}

func TestOracleIsBounded(t *testing.T) {
	var o oracle
	for i := range uint64(maxPages + 10) {
		o.execute(1 + i*pageSize)
	}
	if len(o.pages) != maxPages || o.uncounted != 10 {
		t.Errorf("%d pages, %d uncounted, want %d and 10", len(o.pages), o.uncounted, maxPages)
	}
	for range 300 {
		o.execute(1)
	}
	if n := o.executions().Count(1); n != 255 {
		t.Errorf("count %d, want it to end at 255", n)
	}
}

func TestRequestFraming(t *testing.T) {
	tests := []struct {
		name, in string
		want     request
		rest     string // left in the reader
		err      error
	}{
		{"plain", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", request{}, "GET", nil},
		{"bare line feeds", "GET / HTTP/1.1\nX-Request-Id: 7\n\n", request{id: 7}, "", nil},
		{"length", "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcREST", request{post: true, length: 3, body: PatternCheck{3, true}}, "REST", nil},
		{"chunked", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nREST", request{post: true, length: -1, body: PatternCheck{13, true}}, "REST", nil},
		{"trailer", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\nREST", request{post: true, length: -1}, "REST", nil},
		{"close", "HEAD / HTTP/1.1\r\nConnection: Close\r\n\r\n", request{close: true, head: true}, "", nil},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", request{close: true}, "", nil},
		{"foreign id", "GET / HTTP/1.1\r\nX-Request-Id: abc\r\n\r\n", request{}, "", nil},
		{"no version", "GET /\r\n\r\n", request{}, "", errBadRequest},
		{"empty line", "\r\n", request{}, "", errBadRequest},
		{"no colon", "GET / HTTP/1.1\r\nabc\r\n\r\n", request{}, "", errBadRequest},
		{"bad length", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", request{}, "", errBadRequest},
		{"gzip", "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", request{}, "", errBadRequest},
		{"bad chunk", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", request{}, "", errBadRequest},
		{"bad chunk end", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", request{}, "", errBadRequest},
		{"head cut", "GET / HTTP/1.1\r\nHost", request{}, "", io.EOF},
		{"body cut", "GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", request{}, "", io.EOF},
		{"long line", "GET / HTTP/1.1\r\nA: " + strings.Repeat("a", bufferSize) + "\r\n\r\n", request{}, "", errBadRequest},
		{"long head", "GET / HTTP/1.1\r\n" + strings.Repeat("A: "+strings.Repeat("a", 1000)+"\r\n", 70) + "\r\n", request{}, "", errBadRequest},
		{"long trailer", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: "+strings.Repeat("a", 1000)+"\r\n", 6) + "\r\n", request{}, "", errBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, rest, err := parse(tt.in)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && (q != tt.want || rest != tt.rest) {
				t.Errorf("%+v, rest %q, want %+v, rest %q", q, rest, tt.want, tt.rest)
			}
		})
	}
}

func parse(in string) (q request, rest string, err error) {
	br := bufio.NewReaderSize(strings.NewReader(in), bufferSize)
	if q, err = readHead(br); err == nil {
		err = q.readBody(br)
	}
	b, _ := io.ReadAll(br)
	return q, string(b), err
}

// FuzzRequest looks for panics, and for heads that grow past the bound.
func FuzzRequest(f *testing.F) {
	f.Add("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n")
	f.Add("GET / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc")
	f.Fuzz(func(t *testing.T, in string) {
		q, rest, err := parse(in)
		if err == nil && q.length > int64(len(in)) {
			t.Errorf("a body of %d bytes came out of %d (rest %q)", q.length, len(in), rest)
		}
	})
}
