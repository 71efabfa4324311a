package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"example.com/connwise/internal/texttable"
)

// A watch shows processes again and again.
type watch struct {
	urls   []string
	opts   *statsOptions
	fetch  func(ctx context.Context, urls []string) []fetched
	screen screen

	processes []watched
}

// watchOn watches until ctx ends, or q is pressed. Its error is one of writing.
func watchOn(ctx context.Context, w io.Writer, urls []string, opts *statsOptions) error {
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	s, err := openScreen(w, quit)
	if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	defer s.close()
	watch := watch{urls: urls, opts: opts, fetch: fetchAll, screen: s}
	if err := watch.run(ctx); err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	return nil
}

// run draws a sample every interval, or as soon as the one before is there.
func (w *watch) run(ctx context.Context) error {
	w.processes = make([]watched, len(w.urls))
	tick := time.NewTicker(w.opts.watch)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, w.opts.timeout)
		all := w.fetch(limited, w.urls)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err := w.screen.draw(w.frame(all)); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// frame takes a sample and returns what is to be shown of it.
func (w *watch) frame(all []fetched) frame {
	fl := &fleet{merged: true}
	var rates []map[hostKey][]float64
	var notes []string
	for i := range all {
		f, p := &all[i], &w.processes[i]
		rates = append(rates, p.take(f))
		if note := p.note(f); note != "" {
			notes = append(notes, note)
		}
		if f.err == nil {
			fl.add(f.stats.Hosts)
		}
	}
	for _, r := range rates {
		fl.addRates(r)
	}
	fl.sort(w.opts.sort)
	return frame{
		title: fmt.Sprintf("%s  every %v  %s  (sent and what follows: per second)", time.Now().Format(time.DateTime), w.opts.watch, processes(fl.processes, len(all))),
		notes: notes,
		fleet: fl,
	}
}

func processes(answered, all int) string {
	if all == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d of %d processes", answered, all)
}

// A frame is what is shown of one sample.
type frame struct {
	title string
	notes []string // of processes that are down or were restarted
	fleet *fleet
}

// lines are the frame's, with the given number of hosts at most.
func (f *frame) lines(hosts int) ([]string, error) {
	head := []string{"host", "scheme"}
	for _, g := range statsGauges {
		head = append(head, g.name)
	}
	for _, c := range statsCounters {
		head = append(head, c.name)
	}
	var rows [][]string
	for _, h := range f.fleet.hosts[:min(hosts, len(f.fleet.hosts))] {
		rows = append(rows, watchRow(h))
	}
	if len(f.fleet.hosts) > 1 {
		rows = append(rows, f.fleet.sumRow())
	}
	var b strings.Builder
	fmt.Fprintln(&b, f.title)
	for _, n := range f.notes {
		fmt.Fprintln(&b, strings.ReplaceAll(n, "\n", " "))
	}
	switch {
	case f.fleet.processes == 0:
	case len(f.fleet.hosts) == 0:
		fmt.Fprintln(&b, "no hosts in use")
	default:
		if err := texttable.Write(&b, head, rows, 2); err != nil {
			return nil, err
		}
	}
	return strings.Split(strings.TrimSuffix(printable(b.String()), "\n"), "\n"), nil
}

func watchRow(h *fleetHost) []string {
	return append([]string{hostLabel(h), schemeOf(h)}, watchNumbers(h)...)
}

func watchNumbers(h *fleetHost) (cells []string) {
	for _, g := range statsGauges {
		cells = append(cells, strconv.Itoa(g.of(&h.HostStats)))
	}
	for i := range statsCounters {
		cells = append(cells, rateText(h.rate(i)))
	}
	return cells
}

// sumRow sums all hosts, also those that there is no room for.
func (f *fleet) sumRow() []string {
	var sum fleetHost
	for _, h := range f.hosts {
		sum.merge(&h.HostStats)
		if h.rates != nil {
			one := fleet{hosts: []*fleetHost{&sum}}
			one.addRates(map[hostKey][]float64{{}: h.rates})
		}
	}
	return append([]string{fmt.Sprintf("all %d hosts", len(f.hosts)), ""}, watchNumbers(&sum)...)
}

// rateText has three digits or more.
func rateText(r float64) string {
	switch {
	case r < 0:
		return "-"
	case r == 0:
		return "0"
	case r < 10:
		return strconv.FormatFloat(r, 'f', 2, 64)
	case r < 100:
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return strconv.FormatFloat(r, 'f', 0, 64)
}
