package probe

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func ended(n int, least, most time.Duration) *Endings {
	return &Endings{Conns: n, Ended: n, Min: Millis(least), Median: Millis((least + most) / 2), Max: Millis(most)}
}

func open(n int, d time.Duration) *Endings { return &Endings{Conns: n, OpenFor: Millis(d)} }

func TestAdvice(t *testing.T) {
	hint := func(d time.Duration) *Hint { return &Hint{Timeout: Millis(d)} }
	for _, tt := range []struct {
		name         string
		protocols    []Protocol
		cut          bool
		idle, margin time.Duration // idle zero: no advice
		measured     bool
	}{
		{"nothing", nil, false, 0, 0, false},
		{"no answer", []Protocol{{Error: "x"}}, false, 0, 0, false},
		{"a timer", []Protocol{{Idle: ended(6, 59_997*ms, 60_004*ms)}}, false, time.Minute, 0, true},
		{"coarse ticks", []Protocol{{Idle: ended(6, 1129*ms, 1966*ms)}}, false, 1100 * ms, 335 * ms, true},
		{"very coarse ticks", []Protocol{{Idle: ended(2, 1000*ms, 3000*ms)}}, false, time.Second, 500 * ms, true},
		{"one connection", []Protocol{{Idle: ended(1, 2001*ms, 2001*ms)}}, false, 2 * time.Second, 0, true},
		{"far away", []Protocol{{RTT: Millis(200 * ms), Idle: ended(6, time.Second, time.Second)}}, false, time.Second, 400 * ms, true},
		{"open", []Protocol{{Idle: open(6, 300_002*ms)}}, false, 5 * time.Minute, 0, false},
		{"open, interrupted", []Protocol{{Idle: open(6, 3*time.Second)}}, true, 0, 0, false},
		{"a timer, interrupted", []Protocol{{Idle: ended(2, 3*time.Second, 3*time.Second)}}, true, 3 * time.Second, 0, true},
		{"the lower of two", []Protocol{{Idle: ended(6, 60*time.Second, 60*time.Second)}, {Idle: ended(6, 10*time.Second, 10*time.Second)}}, false, 10 * time.Second, 0, true},
		{"of equals that with the larger margin", []Protocol{{Idle: ended(3, time.Second, time.Second)}, {Idle: ended(3, time.Second, 1400*ms)}}, false, time.Second, 400 * ms, true},
		{"announced less", []Protocol{{KeepAlive: hint(time.Second), Idle: ended(6, 2*time.Second, 2*time.Second)}}, false, time.Second, 0, true},
		{"announced more", []Protocol{{KeepAlive: hint(time.Minute), Idle: ended(6, 2*time.Second, 2*time.Second)}}, false, 2 * time.Second, 0, true},
		{"dropped silently", []Protocol{{Idle: open(4, 8*time.Second), Checks: []Check{
			{Millis(time.Second), resultAnswered}, {Millis(2 * time.Second), resultAnswered}, {Millis(4 * time.Second), resultSilent}, {Millis(8 * time.Second), resultSilent},
		}}}, false, 2 * time.Second, 0, true},
		{"closed before the checks", []Protocol{{Idle: ended(4, 3*time.Second, 3*time.Second), Checks: []Check{
			{Millis(2 * time.Second), resultAnswered}, {Millis(4 * time.Second), resultBefore},
		}}}, false, 3 * time.Second, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := advise(&Report{Protocols: tt.protocols, Cut: tt.cut})
			if tt.idle == 0 {
				if a != nil {
					t.Errorf("advice %+v, want none", a)
				}
				return
			}
			if a == nil || a.ProxyIdleTimeout.Duration() != tt.idle || a.IdleMargin.Duration() != tt.margin || a.Measured != tt.measured {
				t.Fatalf("advice %+v, want %v and %v", a, tt.idle, tt.margin)
			}
			checkLiteral(t, a)
		})
	}
}

// exports are the files with what the compiler knows of pool and all that it imports.
func exports(t *testing.T) func(path string) (io.ReadCloser, error) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "example.com/connwise/pool").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// The recommended code compiles where it is pasted.
func TestAdviceCompiles(t *testing.T) {
	a := advise(&Report{Protocols: []Protocol{{Proto: H1, Idle: ended(6, 1129*ms, 1966*ms)}}})
	src := `package main

import (
	"time"

	"example.com/connwise/pool"
)

var cfg = ` + a.Go + "\n"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "paste.go", src, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", exports(t))}
	if _, err := conf.Check("main", fset, []*ast.File{file}, nil); err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
}

// checkLiteral checks that the code has what the advice has, and the reason as a comment.
func checkLiteral(t *testing.T, a *Advice) {
	t.Helper()
	for _, want := range []string{"\t// ", "\tProxyIdleTimeout: " + literal(a.ProxyIdleTimeout.Duration()) + ",\n"} {
		if !strings.Contains(a.Go, want) {
			t.Errorf("the code lacks %q:\n%s", want, a.Go)
		}
	}
	if strings.Contains(a.Go, "IdleMargin") != (a.IdleMargin > 0) {
		t.Errorf("margin %v in\n%s", a.IdleMargin, a.Go)
	}
	if _, err := parser.ParseExpr(a.Go); err != nil {
		t.Errorf("%v in\n%s", err, a.Go)
	}
}

func TestRoundDown(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		4997 * ms: 5 * time.Second, 5003 * ms: 5 * time.Second, 1016 * ms: time.Second, 1129 * ms: 1100 * ms,
		1960 * ms: 1900 * ms, 983 * ms: 980 * ms, 998 * ms: time.Second, 59_800 * ms: time.Minute, 59_600 * ms: 59 * time.Second,
		74_998 * ms: 75 * time.Second, 305*ms + 400*time.Microsecond: 300 * ms, 296 * ms: 290 * ms, 51 * ms: 51 * ms,
		51*ms + 900*time.Microsecond: 52 * ms, 51*ms + 600*time.Microsecond: 51 * ms, 700 * time.Microsecond: time.Microsecond, 600_001 * ms: 10 * time.Minute,
	} {
		if got := roundDown(in); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
}

func TestLiteral(t *testing.T) {
	for in, want := range map[time.Duration]string{
		75 * time.Second: "75 * time.Second", 300 * time.Second: "5 * time.Minute", 1100 * ms: "1100 * time.Millisecond",
		52 * time.Microsecond: "52 * time.Microsecond", 7: "7 * time.Nanosecond",
	} {
		if got := literal(in); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
}
