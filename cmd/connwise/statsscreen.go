package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// A screen shows one frame after the other.
type screen interface {
	draw(frame) error
	close()
}

// openScreen returns a terminal, if w is one, and else a log. quit is called when q or
// Ctrl-C is pressed.
func openScreen(w io.Writer, quit func()) (screen, error) {
	out, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return &logScreen{w: w}, nil
	}
	t := &terminal{w: out, size: func() (int, int, error) { return term.GetSize(int(out.Fd())) }}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		if state, err := term.MakeRaw(in); err == nil {
			t.restore = func() { _ = term.Restore(in, state) }
			go waitForQuit(os.Stdin, quit) // it ends with the process: nothing ends a read of a terminal
		}
	}
	return t, t.begin()
}

// waitForQuit reads keys until one ends the watch. In raw mode Ctrl-C is a key, too.
func waitForQuit(keys io.Reader, quit func()) {
	buf := make([]byte, 64)
	for {
		n, err := keys.Read(buf)
		if bytes.ContainsAny(buf[:n], "qQ\x03\x04") {
			quit()
			return
		}
		if err != nil {
			return // without keys there are still signals
		}
	}
}

// A logScreen appends whole frames.
type logScreen struct {
	w     io.Writer
	drawn bool
}

func (l *logScreen) draw(f frame) error {
	lines, err := f.lines(len(f.fleet.hosts))
	if err != nil {
		return err
	}
	if l.drawn {
		lines = append([]string{""}, lines...)
	}
	l.drawn = true
	_, err = io.WriteString(l.w, strings.Join(lines, "\n")+"\n")
	return err
}

func (l *logScreen) close() {}

// Control sequences of ECMA-48 and xterm.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	cursorHome  = "\x1b[H"
	eraseLine   = "\x1b[K" // to its end
	eraseBelow  = "\x1b[J"
)

// A terminal draws each frame over the last one, cut to its size.
type terminal struct {
	w       io.Writer
	size    func() (width, height int, err error)
	restore func() // the mode of the keyboard; nil: it is as it was
	ended   sync.Once
}

func (t *terminal) begin() error {
	_, err := io.WriteString(t.w, enterScreen)
	return err
}

func (t *terminal) close() {
	t.ended.Do(func() {
		_, _ = io.WriteString(t.w, leaveScreen)
		if t.restore != nil {
			t.restore()
		}
	})
}

func (t *terminal) draw(f frame) error {
	width, height, err := t.size()
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	f.title += "  q quits"
	// Beside hosts: the title, notes, the head and its line, the sum, and what is left out.
	room := max(1, height-len(f.notes)-5)
	lines, err := f.lines(room)
	if err != nil {
		return err
	}
	if left := len(f.fleet.hosts) - room; left > 0 {
		lines = append(lines, fmt.Sprintf("%d more, for which there is no room", left))
	}
	var b strings.Builder
	b.WriteString(cursorHome)
	for i, line := range lines[:min(len(lines), height)] {
		if i > 0 {
			b.WriteString("\r\n") // in raw mode a line feed is only that
		}
		b.WriteString(cut(line, width) + eraseLine)
	}
	b.WriteString(eraseBelow)
	_, err = io.WriteString(t.w, b.String())
	return err
}

// cut shortens what would go over into the next line.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + ">"
}
