//go:build sidecar && linux

package sidecartest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// connwise is the path of the program, which TestMain has built.
var connwise string

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built builds the program, runs the tests, and removes it.
type built struct{ *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "sidecartest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	connwise = filepath.Join(dir, "connwise")
	out, err := exec.Command("go", "build", "-o", connwise, "../../cmd/connwise").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return b.M.Run()
}
