package pool

import (
	"os"
	"testing"

	"example.com/connwise/internal/peer"

	"go.uber.org/goleak"
)

// The tests of what idle connections cost have their server in a process of its own.
func TestMain(m *testing.M) {
	if peer.IsChild() {
		os.Exit(peer.ChildMain(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}
