package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"example.com/connwise/internal/probe"
)

// A probeBar shows how far a probe is and what it has found out. Nil, and without a terminal,
// it shows nothing.
type probeBar struct {
	bar  *progressbar.ProgressBar
	quit chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex // guards the following, and the bar
	text string
}

// newProbeBar returns a bar that start begins to show; nil if stderr is no terminal.
func newProbeBar(stderr io.Writer) *probeBar {
	f, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &probeBar{quit: make(chan struct{}), text: "connecting"}
}

// start shows the bar until stop. The probe takes at most longest.
func (b *probeBar) start(longest time.Duration) {
	if b == nil {
		return
	}
	b.bar = progressbar.NewOptions64(int64(longest/time.Second)+1,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(false))
	b.done.Go(func() { b.run(time.Now(), longest) })
}

func (b *probeBar) run(begun time.Time, longest time.Duration) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		b.draw(time.Since(begun), longest)
		select {
		case <-tick.C:
		case <-b.quit:
			return
		}
	}
}

func (b *probeBar) draw(took, longest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := max(longest-took, 0).Round(time.Second)
	b.bar.Describe(fmt.Sprintf("%s, %v left at most", b.text, left))
	_ = b.bar.Set64(int64(min(took, longest) / time.Second))
}

// update takes what is known.
func (b *probeBar) update(p probe.Progress) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = probeText(p)
}

// probeText is the progress in a line.
func probeText(p probe.Progress) string {
	parts := []string{fmt.Sprintf("%d open, %d ended", p.Open, p.Ended)}
	if p.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%d requests", p.Requests))
	}
	return strings.Join(append(parts, p.Known...), ", ")
}

// stop clears the bar away.
func (b *probeBar) stop() {
	if b == nil {
		return
	}
	close(b.quit)
	b.done.Wait()
	_ = b.bar.Finish()
}
