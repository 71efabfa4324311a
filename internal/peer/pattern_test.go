package peer

import (
	"bytes"
	"slices"
	"testing"
)

// TestPatternTellsPlaces has each byte say where it is, whatever the length.
func TestPatternTellsPlaces(t *testing.T) {
	for _, n := range []int{0, 1, 250, 251, 252, 65535, 65536, 65787, 65788, 1 << 20} {
		for i, got := range Pattern(n) {
			if got != byte(i%251) {
				t.Fatalf("of %d bytes number %d is %d", n, i, got)
			}
		}
	}
}

func TestPatternCheck(t *testing.T) {
	const n = 200_000
	whole := Pattern(n)
	changed := slices.Clone(whole)
	changed[n-7]++
	doubled := slices.Concat(whole[:32<<10], whole[16<<10:32<<10], whole[32<<10:n-16<<10])
	swapped := slices.Concat(whole[:16<<10], whole[32<<10:48<<10], whole[16<<10:32<<10], whole[48<<10:])
	tests := []struct {
		name string
		b    []byte
		want bool
	}{
		{"whole", whole, true},
		{"short", whole[:n-1], false},
		{"short by a period", whole[:n-251], false},
		{"long", Pattern(n + 251), false},
		{"one byte", changed, false},
		{"a block twice", doubled, false},
		{"two blocks in each other's place", swapped, false},
		{"nothing", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range []int{1, 100, 251, 16 << 10, n + 251} {
				var c PatternCheck
				for rest := range slices.Chunk(tt.b, piece) {
					_, _ = c.Write(rest) // never fails
				}
				if c.Is(n) != tt.want || c.Size() != int64(len(tt.b)) {
					t.Errorf("in pieces of %d: %v, %d bytes; want %v, %d", piece, c.Is(n), c.Size(), tt.want, len(tt.b))
				}
			}
		})
	}
	if !bytes.Equal(Pattern(3), []byte{0, 1, 2}) {
		t.Error("it doesn't begin with 0, 1, 2")
	}
}
