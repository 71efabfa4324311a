package benchcli

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"example.com/connwise/bench"
)

// newProgress returns a function that shows progress, if stderr is a terminal, and
// one that clears it away.
func newProgress(stderr io.Writer) (show func(bench.Step), done func()) {
	f, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(bench.Step) {}, func() {}
	}
	var bar *progressbar.ProgressBar
	show = func(s bench.Step) {
		if bar == nil {
			bar = progressbar.NewOptions(s.Total,
				progressbar.OptionSetWriter(stderr),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionShowCount(),
				progressbar.OptionSetPredictTime(false))
		}
		bar.Describe(fmt.Sprintf("%-9s %-3s %-9s", s.Scenario, s.Proto, s.Client))
		_ = bar.Set(s.Done)
	}
	done = func() {
		if bar != nil {
			_ = bar.Finish()
		}
	}
	return show, done
}
