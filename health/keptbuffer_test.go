package health

import "testing"

// TestKeptBuffersHaveOneOwner lets one laggard empty its buffer and fill the next one,
// while others take theirs from the pool.
func TestKeptBuffersHaveOneOwner(t *testing.T) {
	for range 100 { // a pool may forget what it was given
		var a, b laggard
		a.kept = append(a.kept, "sent"...)
		a.startLocked()
		a.sentLocked(len(a.first), nil)
		a.hold = true
		if _, err := a.write([]byte("aaaa")); err != nil {
			t.Fatal(err)
		}
		b.begin()
		if _, err := b.write([]byte("bbbb")); err != nil {
			t.Fatal(err)
		}
		if string(a.kept) != "aaaa" || string(b.kept) != "bbbb" {
			t.Fatalf("kept %q and %q, want aaaa and bbbb", a.kept, b.kept)
		}
	}
}
