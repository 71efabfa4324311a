package retry

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/connwise/pool"
)

// A second attempt never has less than the first one and says that it is all.

// ends reads the body to its end, whatever that is, and returns its error.
func ends(err *error) act {
	return func(req *http.Request) (*http.Response, error) {
		_, *err = io.ReadAll(req.Body)
		req.Body.Close()
		return nil, &pool.Error{Phase: pool.PhaseSending, Err: &pool.CallerError{Source: pool.CallerBody, Err: *err}}
	}
}

// A liar is a tape that doesn't rewind as it says.
type liar struct {
	*tape
	at, says int64 // where Seek goes, and says it went
}

func (l *liar) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekStart {
		l.tape.Seek(l.at, io.SeekStart)
		return l.says, nil
	}
	return l.tape.Seek(offset, whence)
}

func TestSeekThatLies(t *testing.T) {
	sent := failed(pool.PhaseSent)
	t.Run("about where it is", func(t *testing.T) {
		s := &liar{newTape("data"), 2, 2}
		err := play(t, Default(), "GET", -1, s, reads(5, sent))
		if c, ok := errors.AsType[*pool.CallerError](err); !ok || c.Source != pool.CallerBody {
			t.Errorf("got %v, want the caller's fault", err)
		}
		wantUse(t, s.stream, 1, 1)
	})
	for name, at := range map[string]int64{"and gives nothing": 4, "and gives less": 2} {
		t.Run(name, func(t *testing.T) {
			s := &liar{newTape("data"), at, 0}
			var end error
			err := play(t, Default(), "GET", -1, s, reads(5, sent), ends(&end))
			if end != errShorter || !errors.Is(err, errShorter) {
				t.Errorf("the body ended with %v, the call with %v", end, err)
			}
		})
	}
	t.Run("and gives less than was said", func(t *testing.T) {
		s := &liar{newTape("data"), 2, 0}
		var end error
		err := play(t, Default(), "GET", 4, s, reads(1, sent), ends(&end))
		if end != errShorter || !errors.Is(err, errShorter) {
			t.Errorf("the body ended with %v, the call with %v", end, err)
		}
	})
	t.Run("and nobody had come that far", func(t *testing.T) {
		s := &liar{newTape("data"), 2, 0}
		if err := play(t, Default(), "GET", -1, s, reads(2, sent), takes(t, "ta")); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestFileTruncatedBetweenAttempts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(name, []byte("file's content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var end error
	err = play(t, Default(), "GET", -1, f, reads(15, failed(pool.PhaseSent)), func(req *http.Request) (*http.Response, error) {
		if err := os.Truncate(name, 4); err != nil {
			t.Error(err)
		}
		return ends(&end)(req)
	})
	if end != errShorter || !errors.Is(err, errShorter) {
		t.Errorf("the body ended with %v, the call with %v", end, err)
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file was left open (Close now gives %v)", err)
	}
}

// TestGetBodyMisbehaves: what isn't a copy isn't sent as one.
func TestGetBodyMisbehaves(t *testing.T) {
	send := func(t *testing.T, length int64, get func(first io.ReadCloser) (io.ReadCloser, error), list ...act) error {
		t.Helper()
		req := newRequest(t, "GET", nil)
		s := newStream("data")
		req.Body, req.ContentLength = s, length
		req.GetBody = func() (io.ReadCloser, error) { return get(s) }
		base := &acts{t: t, acts: list}
		defer func() {
			if base.made != len(list) {
				t.Errorf("%d attempts were made, want %d", base.made, len(list))
			}
			wantUse(t, s, 1, 1)
		}()
		_, err := (&Transport{Base: base, Policy: atOnce(Default())}).RoundTrip(req)
		return err
	}
	sent := failed(pool.PhaseSent)
	for _, length := range []int64{4, -1, 0} {
		err := send(t, length, func(io.ReadCloser) (io.ReadCloser, error) { return nil, nil }, reads(5, sent))
		if c, ok := errors.AsType[*pool.CallerError](err); !ok || c.Source != pool.CallerBody || !errors.Is(err, errNoCopy) {
			t.Errorf("length %d, nil: got %v", length, err)
		}
	}
	empty := func(io.ReadCloser) (io.ReadCloser, error) { return http.NoBody, nil }
	if err := send(t, 4, empty, reads(5, sent)); !errors.Is(err, errNoCopy) {
		t.Errorf("NoBody for 4 bytes: got %v", err)
	}
	var end error
	if err := send(t, -1, empty, reads(5, sent), ends(&end)); end != errShorter || !errors.Is(err, errShorter) {
		t.Errorf("NoBody in place of something: the body ended with %v, the call with %v", end, err)
	}
	for _, n := range []int{3, 5} { // the same reader again, with a part of it or nothing
		same := func(first io.ReadCloser) (io.ReadCloser, error) { return io.NopCloser(first.(*stream).r), nil }
		if err := send(t, -1, same, reads(n, sent), ends(&end)); end != errShorter || !errors.Is(err, errShorter) {
			t.Errorf("the same reader: the body ended with %v, the call with %v", end, err)
		}
	}
	whole := func(io.ReadCloser) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("data, and more")), nil
	}
	if err := send(t, -1, whole, reads(5, sent), takes(t, "data, and more")); err != nil {
		t.Errorf("a longer copy: %v", err)
	}
	func() {
		defer func() {
			if v := recover(); v != "no copy" {
				t.Errorf("recovered %v, want GetBody's panic", v)
			}
		}()
		send(t, 4, func(io.ReadCloser) (io.ReadCloser, error) { panic("no copy") }, reads(5, sent))
	}()
}
