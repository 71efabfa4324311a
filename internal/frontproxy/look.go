//go:build unix

package frontproxy

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Look looks for a program in PATH and where distributions keep servers.
func Look(name string) (path string, ok bool) {
	for _, p := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path, true
		}
	}
	return "", false
}

// A NotInstalledError is a program that Look doesn't find.
type NotInstalledError struct {
	Kind    string // of proxy
	Program string // that it needs
}

func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("frontproxy: %s: the program %s is not installed (neither in PATH nor in /usr/sbin or /usr/local/sbin)", e.Kind, e.Program)
}

// Installed returns a *NotInstalledError for the first of the kind's programs that isn't there.
func (k Kind) Installed() error {
	_, err := k.paths()
	return err
}

func (k Kind) paths() (paths []string, err error) {
	for _, prog := range k.programs {
		path, ok := Look(prog.name)
		if !ok {
			return nil, &NotInstalledError{Kind: k.Name, Program: prog.name}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Version is what the front program says of its version, in a line.
func (k Kind) Version() (string, error) {
	paths, err := k.paths()
	if err != nil {
		return "", err
	}
	path := paths[len(paths)-1]
	ctx, cancel := context.WithTimeout(context.Background(), StartTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, k.version...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("frontproxy: %s: %w", path, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}
