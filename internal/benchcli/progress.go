package benchcli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"example.com/connwise/bench"
)

// newProgress returns a function that shows progress, as a bar where stderr is a terminal
// and as a line for each row elsewhere, and one that clears the bar away. Quiet ones do
// nothing.
func newProgress(stderr io.Writer, quiet bool) (show func(bench.Step), done func()) {
	if quiet {
		return func(bench.Step) {}, func() {}
	}
	begun := time.Now()
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return newBar(stderr, begun)
	}
	last := ""
	show = func(s bench.Step) {
		if row := rowOf(s); row != last {
			last = row
			line := fmt.Sprintf("%5s %3d%%  %-25s %s", since(begun), 100*s.Done/s.Total, row, left(time.Since(begun), s))
			_, _ = fmt.Fprintln(stderr, strings.TrimRight(line, " "))
		}
	}
	return show, func() {}
}

// newBar is newProgress on a terminal.
func newBar(stderr io.Writer, begun time.Time) (show func(bench.Step), done func()) {
	var bar *progressbar.ProgressBar
	show = func(s bench.Step) {
		if bar == nil {
			bar = progressbar.NewOptions(s.Total,
				progressbar.OptionSetWriter(stderr),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionShowCount(),
				progressbar.OptionSetWidth(20),
				progressbar.OptionSetElapsedTime(false),
				progressbar.OptionSetPredictTime(false))
		}
		about := cmp.Or(left(time.Since(begun), s), "since "+since(begun))
		bar.Describe(fmt.Sprintf("%-16s %-10s %-14s", rowOf(s), s.Client, about))
		_ = bar.Set(s.Done)
	}
	done = func() {
		if bar != nil {
			_ = bar.Finish()
		}
	}
	return show, done
}

func rowOf(s bench.Step) string {
	name := s.Scenario + " " + s.Proto
	if s.Proxy != "" {
		name += " " + s.Proxy
	}
	if s.Size > 0 {
		name += fmt.Sprintf(" %d", s.Size)
	}
	return name
}

// left guesses from the rounds that are over; empty where there are none.
func left(took time.Duration, s bench.Step) string {
	if s.Done == 0 {
		return ""
	}
	rest := took * time.Duration(s.Total-s.Done) / time.Duration(s.Done)
	return "about " + rest.Round(time.Second).String() + " left"
}

func since(t time.Time) string { return time.Since(t).Round(time.Second).String() }
