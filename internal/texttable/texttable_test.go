package texttable

import (
	"errors"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := Write(&b, []string{"host", "state", "req/s"}, [][]string{{"a", "up", "12345"}, {"long.example", "-", "1"}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 5 || lines[4] != "" {
		t.Fatalf("not a header, a line and two rows:\n%s", b.String())
	}
	for i, want := range map[int][]string{0: {"host", "state", "req/s"}, 2: {"a", "up", "12345"}, 3: {"long.example", "-", "1"}} {
		if got := strings.Fields(lines[i]); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	// Text starts in one column, numbers end in one.
	if strings.Index(lines[2], "up") != strings.Index(lines[3], "-") {
		t.Errorf("text isn't aligned to the left:\n%s", b.String())
	}
	if len(lines[2]) != len(lines[3]) {
		t.Errorf("numbers aren't aligned to the right:\n%s", b.String())
	}
}

func TestWriteReportsTheWritersError(t *testing.T) {
	broken := errors.New("disk full")
	if err := Write(failing{broken}, []string{"a"}, [][]string{{"b"}}, 1); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
