package peer

import "bytes"

// patternPeriod is a prime, so that blocks of any usual size which are lost, doubled or
// put in another order don't look like the ones in whose place they are.
const patternPeriod = 251

// pattern is more than one period of Pattern, so that much can be compared at a time.
var pattern = func() []byte {
	b := make([]byte, patternPeriod+64<<10)
	for i := range b {
		b[i] = byte(i % patternPeriod)
	}
	return b
}()

// Pattern returns n bytes, each of which is its place modulo 251: the body of all answers,
// and of uploads that are to be looked at (Faults.Upload).
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += len(pattern) / patternPeriod * patternPeriod {
		copy(b[i:], pattern)
	}
	return b
}

// A PatternCheck compares what is written to it with Pattern. It is a memcmp against a block
// that stays in the processor's cache, so it costs little. The zero PatternCheck is ready.
type PatternCheck struct {
	n       int64
	damaged bool
}

// Write compares p, and never fails.
func (c *PatternCheck) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && !c.damaged; {
		want := pattern[(c.n+int64(len(p)-len(rest)))%patternPeriod:]
		n := min(len(rest), len(want))
		c.damaged = !bytes.Equal(rest[:n], want[:n])
		rest = rest[n:]
	}
	c.n += int64(len(p))
	return len(p), nil
}

// Size returns how many bytes came.
func (c *PatternCheck) Size() int64 { return c.n }

// Is reports whether what came is Pattern(n).
func (c *PatternCheck) Is(n int64) bool { return c.n == n && !c.damaged }
