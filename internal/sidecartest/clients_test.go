//go:build sidecar && linux

package sidecartest

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/connwise/internal/frontproxy"
)

// How a client sends: busy lanes have no idle time to speak of, paced ones idle for 150 to
// 650 ms before each request.
const (
	busyLanes  = 3
	pacedLanes = 6
)

// A client is a program that sends GETs and POSTs in turn, and says what it saw.
type client struct {
	name string
	// find returns the program. It skips the test without it.
	find func(t *testing.T) string
	// commands are what runs at one time: to base, with paths that begin with name.
	commands func(t *testing.T, f files, path, base, name string, d time.Duration) []*exec.Cmd
	// loses says that it sees errors without a sidecar, GETs too.
	loses bool
}

var clients = []client{
	{name: "ruby", find: findRuby, commands: script("client.rb"), loses: true},
	{name: "urllib3", find: findPython, commands: script("client.py", "default")},
	{name: "urllib3-off", find: findPython, commands: script("client.py", "off"), loses: true},
	{name: "curl", find: findCurl, commands: curls},
}

func findRuby(t *testing.T) string {
	return look(t, func(path string) bool {
		return exec.Command(path, "-e", `require "faraday"; require "net/http/persistent"`).Run() == nil
	}, "/usr/bin/ruby", "ruby")
}

func findPython(t *testing.T) string {
	return look(t, func(path string) bool { return exec.Command(path, "-c", "import urllib3").Run() == nil },
		"/usr/bin/python3", "python3")
}

func findCurl(t *testing.T) string {
	return look(t, func(path string) bool { return exec.Command(path, "--rate", "1/s", "--version").Run() == nil }, "curl")
}

// script runs one of testdata.
func script(file string, options ...string) func(*testing.T, files, string, string, string, time.Duration) []*exec.Cmd {
	return func(_ *testing.T, f files, path, base, name string, d time.Duration) []*exec.Cmd {
		args := []string{"testdata/" + file, base, name, strconv.Itoa(busyLanes), strconv.Itoa(pacedLanes),
			strconv.FormatFloat(d.Seconds(), 'f', 3, 64), f.ca}
		return []*exec.Cmd{frontproxy.Command(path, append(args, options...)...)}
	}
}

// curls is a process for each lane, which has one connection for all its requests.
func curls(t *testing.T, f files, path, base, name string, d time.Duration) (cmds []*exec.Cmd) {
	t.Helper()
	for i := range busyLanes + pacedLanes {
		perSecond := 40
		if i >= busyLanes {
			perSecond = 2 + i%2 // every 500 or 333 ms
		}
		lane := fmt.Sprintf("%s-%d", name, i)
		config := curlConfig(base, lane, f.ca, perSecond*int(d/time.Second))
		cmds = append(cmds, frontproxy.Command(path, "--disable", "--silent", "--rate", fmt.Sprintf("%d/s", perSecond),
			"--config", f.write(t, lane+".curl", []byte(config))))
	}
	return cmds
}

// curlConfig has n requests for one process.
func curlConfig(base, lane, ca string, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString("next\n")
		}
		path, method := fmt.Sprintf("/%s-%d", lane, i), "GET"
		if i%2 == 1 {
			method = "POST"
			fmt.Fprintf(&b, "data = %q\n", strings.Repeat(path, 20))
		}
		fmt.Fprintf(&b, "url = %q\noutput = \"/dev/null\"\ncacert = %q\n", base+path, ca)
		fmt.Fprintf(&b, "write-out = \"%s\\t%s\\t%%{http_code}\\t%%header{connwise-unprocessed}\\t%%header{connwise-retries}\\t%%{errormsg}\\n\"\n",
			path, method)
	}
	return b.String()
}

// run runs a client's commands, and reads what they saw.
func (c client) run(cmds []*exec.Cmd) (all []outcome, err error) {
	outs := make([]bytes.Buffer, len(cmds))
	errs := make([]bytes.Buffer, len(cmds))
	for i, cmd := range cmds {
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		if err := cmd.Start(); err != nil {
			return nil, err
		}
	}
	for i, cmd := range cmds {
		_ = cmd.Wait() // curl's code is that of its last request
		for line := range strings.Lines(outs[i].String()) {
			o, perr := parseOutcome(strings.TrimSuffix(line, "\n"))
			if perr != nil && err == nil {
				err = perr
			}
			all = append(all, o)
		}
		if errs[i].Len() > 0 && err == nil {
			err = fmt.Errorf("%s: %s", c.name, errs[i].String())
		}
	}
	return all, err
}

// A way is a client's requests to one address.
type way struct {
	client
	sidecar bool
	cmds    []*exec.Cmd
	all     []outcome
	err     error
}

func (w *way) name() string {
	if w.sidecar {
		return w.client.name + "-sidecar"
	}
	return w.client.name + "-direct"
}

// TestClients has all clients send at one time, straight to a front-end and through a sidecar.
func TestClients(t *testing.T) {
	f := newFiles(t)
	d := timeOf(t, "CONNWISE_SIDECAR_TIME", 8*time.Second)
	fe := startFrontEnd(t, f)
	_, base := startSidecar(t, f, fe.url())
	var ways []*way
	for _, c := range clients {
		path := c.find(t)
		for _, through := range []bool{false, true} {
			w := &way{client: c, sidecar: through}
			to := fe.url()
			if through {
				to = base
			}
			w.cmds = c.commands(t, f, path, to, w.name(), d)
			ways = append(ways, w)
		}
	}
	var wg sync.WaitGroup
	for _, w := range ways {
		wg.Go(func() { w.all, w.err = w.run(w.cmds) })
	}
	wg.Wait()
	fe.close()
	report(t, fe, ways, d)
}

// report logs what each way was like, and fails for what must not be.
func report(t *testing.T, fe *frontEnd, ways []*way, d time.Duration) {
	t.Helper()
	var rows [][]string
	for _, w := range ways {
		if w.err != nil {
			t.Error(w.err)
		}
		s := sum(w.all, fe.executed)
		faults := s.faults
		if w.sidecar {
			faults = append(faults, s.throughSidecar(w.all)...)
		} else if faults = append(faults, s.direct()...); w.loses && s.getErrors == 0 {
			t.Errorf("%s: no GET failed, so nothing was tried", w.name())
		}
		for _, fault := range faults[:min(10, len(faults))] {
			t.Errorf("%s: %s", w.name(), fault)
		}
		if least := 10 * int(d/time.Second); s.gets < least || s.posts < least {
			t.Errorf("%s sent %d GETs and %d POSTs only", w.name(), s.gets, s.posts)
		}
		t.Logf("%s: errors:%s", w.name(), s.common())
		rows = append(rows, s.row(w.name()))
	}
	if fe.broken > 0 {
		t.Errorf("%d POSTs came with a body that wasn't theirs", fe.broken)
	}
	if fe.seen.cut == 0 || fe.seen.idleCloses == 0 {
		t.Errorf("the front-end did nothing wrong: %+v", fe.seen)
	}
	t.Logf("%s; the front-end: %+v", d, fe.seen)
	logTable(t, []string{"client", "GETs", "failed", "POSTs", "failed", "executed twice", "made good", "503 true", "502/504 false"}, rows, 1)
}

func (t tally) row(name string) []string {
	row := []string{name}
	for _, n := range []int{t.gets, t.getErrors, t.posts, t.postErrors, t.twice, t.retried, t.unprocessed, t.maybe} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}
