package h1

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/connwise/internal/wire"
)

// TestCloseBeforeTheEnd says what becomes of a connection whose answer's body is closed
// early. The peer sends answer, and later rest.
func TestCloseBeforeTheEnd(t *testing.T) {
	long := strings.Repeat("x", drainBytes)
	for _, tt := range []struct {
		name         string
		answer, rest string
		after        time.Duration // when rest comes
		end          wire.End
		took         time.Duration
	}{
		{"all is there", ok5, "", 0, wire.EndKept, 0},
		{"the rest comes soon", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo", drainTime / 2, wire.EndKept, drainTime / 2},
		{"the rest comes late", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo", 2 * drainTime, wire.EndUnread, drainTime},
		{"64 KiB are left", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(long), long), "", 0, wire.EndKept, 0},
		{"more is left", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nx%s", len(long)+1, long), "", 0, wire.EndUnread, 0},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf("hello") + "0\r\n\r\n", "", 0, wire.EndKept, 0},
		{"chunked without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf("hello"), "", 0, wire.EndUnread, drainTime},
		{"chunked and too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf(long+long), "", 0, wire.EndUnread, 0},
		{"chunked and broken", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "", 0, wire.EndUnread, 0},
		{"with surplus", ok5 + "x", "", 0, wire.EndSurplus, 0},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", "", 0, wire.EndNotKept, 0},
		{"with close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", "", 0, wire.EndNotKept, 0},
	} {
		for _, readFirst := range []int{0, 1} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, Options{ReadStall: time.Millisecond}) // not during a drain
					a := r.start(get(t))
					r.hearsHead()
					r.says(tt.answer)
					a.answer(200)
					if tt.name == "more is left" || !strings.HasSuffix(tt.name, "close") && readFirst > 0 && tt.end != wire.EndUnread {
						io.ReadFull(a.resp.Body, make([]byte, readFirst))
					}
					if tt.rest != "" {
						time.AfterFunc(tt.after, func() { io.WriteString(r.peer, tt.rest) })
					}
					start := time.Now()
					if err := a.resp.Body.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
					want := tt
					if readFirst > 0 && tt.name == "more is left" {
						want.end = wire.EndKept // not any more
					}
					elapsed(t, start, want.took)
					a.wantEnd(want.end)
					if _, err := a.resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
						t.Errorf("Read after Close: %v", err)
					}
					a.resp.Body.Close()
					if want.end == wire.EndKept {
						r.serves()
					} else {
						r.wantClosed()
					}
				})
			})
		}
	}
}
