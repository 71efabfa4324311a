package benchproxy

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"example.com/connwise/bench"
)

func TestMain(m *testing.M) {
	if bench.IsChild() {
		os.Exit(bench.ChildMain(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}
