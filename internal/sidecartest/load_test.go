//go:build sidecar && linux

package sidecartest

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
)

const (
	loadRounds = 3
	manyConns  = 32 // of wrk, each with a request at all times
	// growth is what the sidecar's memory may grow by from the first round to the last.
	growth = 0.20
)

// A target is what wrk sends to.
type target struct {
	name, url string
	lone      bool                // with one connection only
	proc      *frontproxy.Process // nil: memory isn't looked at
	alone     []load              // with one connection, a second each
	many      []load              // with manyConns, a round each
	memory    []int64             // bytes, after each round of many
}

// TestLoad has wrk send straight to a server that reloads every second, through nginx, through Go's
// ReverseProxy over http.Transport, and through the sidecar, in turn.
func TestLoad(t *testing.T) {
	wrk := look(t, nil, "wrk")
	f := newFiles(t)
	all := timeOf(t, "CONNWISE_SIDECAR_LOAD", 6*time.Second)
	origin, addr := startOrigin(t, f)
	rival, rivalAddr := startRival(t, f, addr)
	sidecar, sidecarURL := startSidecar(t, f, "https://"+addr)
	targets := []*target{
		{name: "direct", url: "https://" + addr},
		{name: "nginx", url: "http://" + rivalAddr, proc: rival},
		{name: "sidecar", url: sidecarURL, proc: sidecar},
		{name: "net/http", url: startPlain(t, f, addr), lone: true},
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	var reloads int
	var reloadErr error
	go func() {
		defer close(ended)
		reloads, reloadErr = reloadEverySecond(origin, stop)
	}()
	wrkAll(t, wrk, targets, all/loadRounds)
	close(stop)
	<-ended
	if reloadErr != nil || reloads < int(all/time.Second) {
		t.Errorf("the server reloaded %d times only: %v", reloads, reloadErr)
	}
	t.Logf("%d connections for %s a target, one for %s; %d reloads", manyConns, all, all/2, reloads)
	logLoad(t, targets)
	checkLoad(t, targets[2])
	if sumLost(targets[0]) == 0 {
		t.Error("nothing was lost straight to the server, so nothing was tried")
	}
}

// wrkAll sends to all targets in turn, in each round for d with many connections, and half of it
// with one: that in parts of a second, so that what else the machine does meets all of them.
func wrkAll(t *testing.T, wrk string, targets []*target, d time.Duration) {
	t.Helper()
	for range loadRounds {
		for range max(1, d/(2*time.Second)) {
			for _, to := range targets {
				to.alone = append(to.alone, runWrk(t, wrk, to.url, 1, time.Second))
			}
		}
		for _, to := range targets {
			if to.lone {
				continue
			}
			to.many = append(to.many, runWrk(t, wrk, to.url, manyConns, d))
			if to.proc != nil {
				to.memory = append(to.memory, resident(t, to.proc))
			}
		}
	}
}

// checkLoad asks that the sidecar lost nothing, and that its memory is flat.
func checkLoad(t *testing.T, to *target) {
	t.Helper()
	for _, l := range slices.Concat(to.alone, to.many) {
		if l.lost() > 0 || l.status > 0 || l.requests == 0 {
			t.Errorf("through the %s: %+v", to.name, l)
		}
	}
	first, last := float64(to.memory[0]), float64(to.memory[loadRounds-1])
	if last > first*(1+growth) {
		t.Errorf("the %s took %.1f MiB after a third of the time, and %.1f MiB at its end", to.name, first/(1<<20), last/(1<<20))
	}
}

// A load is what wrk saw in one run.
type load struct {
	requests                     int
	took, p50, p99               time.Duration
	status                       int // answers other than 2xx and 3xx
	connect, read, write, waited int // requests without an answer
}

func (l load) lost() int { return l.connect + l.read + l.write + l.waited }

func sumLost(to *target) (n int) {
	for _, l := range slices.Concat(to.alone, to.many) {
		n += l.lost()
	}
	return n
}

var wrkResult = regexp.MustCompile(`RESULT (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)\n`)

func runWrk(t *testing.T, wrk, url string, conns int, d time.Duration) load {
	t.Helper()
	out, err := frontproxy.Command(wrk, "-t1", "-c"+strconv.Itoa(conns), "-d"+strconv.Itoa(int(d/time.Second))+"s",
		"-s", "testdata/wrk.lua", url+"/").CombinedOutput()
	match := wrkResult.FindSubmatch(out)
	if err != nil || match == nil {
		t.Fatalf("wrk %s: %v\n%s", url, err, out)
	}
	var n [9]int
	for i := range n {
		if n[i], err = strconv.Atoi(string(match[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	return load{n[0], us(n[1]), us(n[2]), us(n[3]), n[4], n[5], n[6], n[7], n[8]}
}

// resident is the memory of a process and of its children that is in RAM, in bytes.
func resident(t *testing.T, p *frontproxy.Process) int64 {
	t.Helper()
	pid := strconv.Itoa(p.Pid())
	children, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	if err != nil {
		t.Logf("children of %s: %v", pid, err) // the kernel may be without
	}
	var sum int64
	for _, pid := range append(strings.Fields(string(children)), pid) {
		b, err := os.ReadFile(filepath.Join("/proc", pid, "statm"))
		if err != nil {
			t.Fatal(err)
		}
		var size, pages int64
		if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
			t.Fatal(err)
		}
		sum += pages * int64(os.Getpagesize())
	}
	return sum
}

// startPlain serves what a sidecar would be without connwise.
func startPlain(t *testing.T, f files, origin string) string {
	rt := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.authority.Roots()}, MaxIdleConnsPerHost: 64}
	srv := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: origin})
			r.SetXForwarded()
		},
		Transport: rt,
		ErrorLog:  log.New(io.Discard, "", 0), // what it loses, wrk counts
	})
	t.Cleanup(rt.CloseIdleConnections)
	t.Cleanup(srv.Close)
	return srv.URL
}

// logLoad logs a line for each target: of times the median over the runs, of counts the sum. What
// a target adds is told by the least p50s, of the runs that the machine disturbed least.
func logLoad(t *testing.T, targets []*target) {
	t.Helper()
	rows := make([][]string, 0, len(targets))
	for _, to := range targets {
		rows = append(rows, to.row(leastP50(targets[0].alone)))
	}
	many := strconv.Itoa(manyConns) + " conns: "
	logTable(t, []string{"through", "1 conn: p50 µs", "least", "added", many + "req/s", "p50 µs", "p99 µs",
		"not 2xx", "lost", "MiB at 1/3, end"}, rows, 1)
}

// row is the target's line, with what it adds to a time of direct.
func (to *target) row(direct time.Duration) []string {
	least := leastP50(to.alone)
	rate, manyP50, p99, memory := "-", "-", "-", "-"
	if !to.lone {
		var requests int
		var took time.Duration
		for _, l := range to.many {
			requests, took = requests+l.requests, took+l.took
		}
		rate, manyP50 = fmt.Sprintf("%.0f", float64(requests)/took.Seconds()), micros(medianP50(to.many))
		p99 = micros(median(to.many, func(l load) time.Duration { return l.p99 }))
	}
	if to.memory != nil {
		memory = fmt.Sprintf("%.1f, %.1f", float64(to.memory[0])/(1<<20), float64(to.memory[loadRounds-1])/(1<<20))
	}
	status := 0
	for _, l := range slices.Concat(to.alone, to.many) {
		status += l.status
	}
	return []string{to.name, micros(medianP50(to.alone)), micros(least), fmt.Sprintf("%+d", (least - direct).Microseconds()),
		rate, manyP50, p99, strconv.Itoa(status), strconv.Itoa(sumLost(to)), memory}
}

func leastP50(loads []load) time.Duration {
	return slices.MinFunc(loads, func(a, b load) int { return cmp.Compare(a.p50, b.p50) }).p50
}

func medianP50(loads []load) time.Duration {
	return median(loads, func(l load) time.Duration { return l.p50 })
}

func median(loads []load, of func(load) time.Duration) time.Duration {
	var all []time.Duration
	for _, l := range loads {
		all = append(all, of(l))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
