package pool

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A peer that lets connections live for so short a time that never enough are there at once isn't
// dialled for ever, and Warm says why.
func TestWarmGivesUpWhereConnectionsDoNotLast(t *testing.T) {
	inBubble(t, Config{}, func(s *script) {
		st := &site{s: s, dialTime: 100 * ms, fresh: 200 * ms}
		defer st.run()()
		const many = 200
		err := s.tr.Warm(s.Context(), "http://host.test/", many)
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseDial || !strings.Contains(err.Error(), "closed sooner") {
			t.Errorf("Warm returned %v", err)
		}
		if n := st.dialled(); n > 4*many {
			t.Errorf("%d dials for %d connections", n, many)
		}
	})
}

// A url may have a password in it, and what is wrong with it may be the password.
func TestWarmDoesNotTellTheURL(t *testing.T) {
	tr, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, url := range []string{
		"http://user:hush/hush@host.test/",
		"http://user:hush%zz@host.test/",
		"http://user:hush hush@host.test/",
		"http://host.test:hush/",
		"user:hush@host.test",
		"http://user:hush\x01@host.test/",
	} {
		err := tr.Warm(context.Background(), url, 1)
		if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "zz") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
