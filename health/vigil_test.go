package health

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"example.com/connwise/internal/fakenet"
)

func TestVigil(t *testing.T) {
	for _, tt := range []struct {
		name string
		ruin func(*fakenet.Conn)
		want error
	}{
		{"nothing", func(*fakenet.Conn) {}, nil},
		{"a FIN", func(c *fakenet.Conn) { c.CloseWrite() }, io.EOF},
		{"an RST", func(c *fakenet.Conn) { c.Reset() }, errAny},
		{"surplus", func(c *fakenet.Conn) { c.Write([]byte("x")) }, ErrSurplus},
		{"a connection without deadlines", func(c *fakenet.Conn) { c.IgnoreDeadlines() }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := fakenet.Pipe()
				defer client.Close()
				var ended []error
				v := NewVigil(client, func(err error) { ended = append(ended, err) })
				v.Begin()
				tt.ruin(server)
				synctest.Wait()
				verdict, err := v.Look()
				if tt.want == nil {
					if verdict != Alive || len(ended) != 0 {
						t.Fatalf("%v, %v, ended with %v, want alive", verdict, err, ended)
					}
					return
				}
				if verdict != Dead || tt.want != errAny && !errors.Is(err, tt.want) || len(ended) != 1 || ended[0] != err {
					t.Errorf("%v, %v, ended with %v, want dead with %v", verdict, err, ended, tt.want)
				}
			})
		})
	}
}

var errAny = errors.New("any error")

// The byte that the waiting Read gets after a Look is the first of the answer, and no
// second Read waits beside it.
func TestVigilLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := fakenet.Pipe()
		v := NewVigil(client, func(error) { t.Error("called while in use") })
		for range 3 {
			v.Begin()
			v.Begin()
			if verdict, err := v.Look(); verdict != Alive {
				t.Fatal(verdict, err)
			}
			server.Write([]byte("answer"))
			synctest.Wait()
			if v.Read(nil); v.pending == nil {
				t.Error("an empty Read took the byte")
			}
			b := make([]byte, 6)
			if _, err := io.ReadFull(v, b); err != nil || string(b) != "answer" {
				t.Fatalf("read %q, %v", b, err)
			}
		}
		client.Close()
		if _, err := v.Read(make([]byte, 1)); err == nil {
			t.Error("read from a closed connection")
		}
	})
}

// What a Read left of the bytes that came together is surplus when the connection is idle
// again.
func TestVigilFindsSurplusBehindAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := fakenet.Pipe()
		defer client.Close()
		v := NewVigil(client, func(error) { t.Error("called while in use") })
		v.Begin()
		if verdict, err := v.Look(); verdict != Alive {
			t.Fatal(verdict, err)
		}
		server.Write([]byte("HTTP/1.1 408 Too late"))
		synctest.Wait()
		if n, err := io.ReadFull(v, make([]byte, 6)); n != 6 || err != nil {
			t.Fatal(n, err)
		}
		v.Begin()
		if err, ended := v.Ended(); !ended || CauseOf(err) != CauseSurplus {
			t.Errorf("ended is %v, with %v", ended, err)
		}
		if verdict, err := v.Look(); verdict != Dead || CauseOf(err) != CauseSurplus {
			t.Errorf("%v, %v, want dead with surplus", verdict, err)
		}
		b := make([]byte, 100)
		n, err := io.ReadAtLeast(v, b, len(".1 408 Too late"))
		if err != nil || string(b[:n]) != ".1 408 Too late" {
			t.Errorf("read %q, %v", b[:n], err)
		}
	})
}
