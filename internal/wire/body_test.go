package wire

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errTest = errors.New("test error")

// A source counts what is done to it.
type source struct {
	read   func(p []byte) (int, error)
	closed atomic.Int32
	onEnd  func()
}

func (s *source) Read(p []byte) (int, error) { return s.read(p) }

func (s *source) Close() error {
	s.closed.Add(1)
	if s.onEnd != nil {
		s.onEnd()
	}
	return nil
}

func noGone(t *testing.T) func(error) {
	return func(err error) { t.Errorf("the goroutine is said to be gone: %v", err) }
}

func TestBodyReads(t *testing.T) {
	src := &source{read: strings.NewReader("hello").Read}
	b := NewBody(src)
	if touched, busy := b.Touched(); touched || busy {
		t.Error("touched before the first Read")
	}
	p := make([]byte, 10)
	if n, err := b.Read(p, noGone(t)); n != 5 || err != nil {
		t.Errorf("Read = %d, %v", n, err)
	}
	if _, err := b.Read(p, noGone(t)); err != io.EOF {
		t.Errorf("Read: %v, want EOF", err)
	}
	b.End(noGone(t))
	b.Halt()
	if touched, busy := b.Touched(); !touched || busy || src.closed.Load() != 1 {
		t.Errorf("touched %v, busy %v, closed %d times", touched, busy, src.closed.Load())
	}
	if _, err := b.Read(p, noGone(t)); err != ErrStopped {
		t.Errorf("Read behind the end: %v", err)
	}
}

func TestBodysFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		read func(p []byte) (int, error)
		want error
		gone bool
	}{
		"error":       {func([]byte) (int, error) { return 3, errTest }, errTest, false},
		"own error":   {func([]byte) (int, error) { return 0, &BodyError{errTest} }, errTest, false},
		"panic":       {func([]byte) (int, error) { panic(errTest) }, errTest, false},
		"other panic": {func([]byte) (int, error) { panic("text") }, nil, false},
		"too much":    {func(p []byte) (int, error) { return len(p) + 1, nil }, nil, false},
		"less than 0": {func(p []byte) (int, error) { return -1, nil }, nil, false},
		"ends":        {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBody(&source{read: tt.read})
			got := make(chan error, 1)
			go func() {
				gone := func(err error) {
					if !tt.gone {
						t.Errorf("gone: %v", err)
					}
					got <- err
				}
				if _, err := b.Read(make([]byte, 8), gone); !tt.gone {
					got <- err
				}
			}()
			err := <-got
			if _, ok := err.(*BodyError); !ok || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Read: %T %v", err, err)
			}
			var inner *BodyError
			if errors.As(errors.Unwrap(err), &inner) {
				t.Errorf("wrapped twice: %v", err)
			}
		})
	}
}

// Halt ends a Read that Close ends, and gives up on any other.
func TestHalt(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			src := &source{read: func([]byte) (int, error) { <-hang; return 1, nil }}
			if !stubborn {
				src.onEnd = func() { close(hang) }
			}
			b := NewBody(src)
			read := make(chan error, 1)
			go func() {
				_, err := b.Read(make([]byte, 1), noGone(t))
				read <- err
				b.End(noGone(t))
			}()
			synctest.Wait()
			start := time.Now()
			b.Halt()
			want := haltGrace
			if stubborn {
				want += haltWait
			}
			if d := time.Since(start); d != want {
				t.Errorf("Halt took %v, want %v", d, want)
			}
			if _, busy := b.Touched(); busy != stubborn {
				t.Errorf("busy %v", busy)
			}
			if stubborn {
				close(hang)
			}
			if err := <-read; err != ErrStopped {
				t.Errorf("Read: %v", err)
			}
			<-b.Ended()
			synctest.Wait()
			if n := src.closed.Load(); n != 1 {
				t.Errorf("closed %d times", n)
			}
		})
	}
}

func TestStopKeepsReadsFromBeginning(t *testing.T) {
	b := NewBody(&source{read: func([]byte) (int, error) { t.Error("read"); return 0, nil }})
	b.Stop()
	b.Stop()
	<-b.Stopped()
	if _, err := b.Read(nil, noGone(t)); err != ErrStopped {
		t.Errorf("Read: %v", err)
	}
	if touched, _ := b.Touched(); touched {
		t.Error("touched")
	}
}
