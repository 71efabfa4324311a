package bench

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseLoad(t *testing.T) {
	for _, text := range []string{
		"closed", "constant:2000", "constant:0.5", "poisson:2000", "bursts:2000+500/1s", "bursts:0.25+1/1m30s", "ramp:100-5000", "ramp:5000-100", "ramp:0-10", "ramp:7-7",
	} {
		l, err := ParseLoad(text)
		if err != nil || l.String() != text || l.open() != (text != "closed") {
			t.Errorf("%s: %v, %v", text, l, err)
		}
	}
}

func TestParseLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "known: closed, constant:RATE",
		"open":                 "known: closed, constant:RATE",
		"closed:2":             "takes no rate",
		"constant":             "a rate must be",
		"constant:":            "a rate must be",
		"constant:0":           "a rate must be",
		"constant:-3":          "a rate must be",
		"constant:1e3":         "a rate must be",
		"constant:NaN":         "a rate must be",
		"constant:Inf":         "a rate must be",
		"constant:0.00001":     "a rate must be",
		"poisson:100001":       "a rate must be",
		"bursts:2000":          "must be like bursts:",
		"bursts:2000+5":        "must be like bursts:",
		"bursts:2000+0/1s":     "1 to 10000 requests",
		"bursts:2000+20000/1s": "1 to 10000 requests",
		"bursts:2000+5/1":      "from burst to burst",
		"bursts:2000+5/0s":     "from burst to burst",
		"bursts:0+5/1s":        "a rate must be",
		"ramp:100":             "must be like ramp:",
		"ramp:0-0":             "more than 0",
		"ramp:5-x":             "a rate must be",
		"replay:":              "no such file",
		"replay:testdata/none": "no such file",
	} {
		_, err := ParseLoad(text)
		if e, ok := errors.AsType[*UsageError](err); !ok || e.Option != "load" || e.Value != text || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want a *UsageError on the load with %q", text, err, want)
		}
	}
}

func TestParseLoadReadsALog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "arrivals: of today")
	if err := os.WriteFile(name, []byte("1764547200.250\n1764547201.000 POST\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := ParseLoad("replay:" + name)
	if err != nil || l.String() != "replay:"+name || len(l.log) != 2 || !l.posts() || l.lasts() != 751*time.Millisecond {
		t.Errorf("%+v, %v", l, err)
	}
	if err := os.WriteFile(name, []byte("1\n2\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ParseLoad("replay:" + name)
	if e, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(e.Reason, `line 3: "three" is neither seconds`) {
		t.Errorf("error %v, want one on line 3", err)
	}
}

func FuzzParseLoad(f *testing.F) {
	for _, s := range []string{"closed", "constant:2000", "poisson:.5", "bursts:2000+500/1s", "ramp:100-5000", "ramp:0-1", "bursts:1+1/1h0m0s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "replay:") {
			return // it reads any file
		}
		l, err := ParseLoad(text)
		if err != nil {
			return
		}
		if again, err := ParseLoad(l.String()); err != nil || again.String() != l.String() {
			t.Fatalf("%q is written as %q, and read as %v, %v", text, l, again, err)
		}
		if !l.open() {
			return
		}
		last, n := time.Duration(0), 0
		for a := range l.arrivals(1, 0, time.Second) {
			if a.at < last || a.at >= time.Second || a.n < 1 {
				t.Fatalf("%q: %d at %v after one at %v", text, a.n, a.at, last)
			}
			if last, n = a.at, n+a.n; n > 1000 {
				break
			}
		}
	})
}

// TestLoadIsRefused checks that a load comes to no scenario that wouldn't keep to it.
func TestLoadIsRefused(t *testing.T) {
	steady, burst := []string{"steady"}, []string{"burst"}
	proxies := []Proxy{{Name: "p", Protos: []string{"h1", "h2"}, Reloads: true}}
	posts := Load{kind: "replay", log: []arrival{{n: 1, method: "POST"}}}
	long := Load{kind: "replay", log: []arrival{{n: 1}, {at: 40 * time.Minute, n: 1}}}
	for _, tt := range []struct {
		name string
		o    Options
		want string // empty: it isn't
	}{
		{"steady", Options{Load: load("constant:5"), Scenarios: steady}, ""},
		{"nobody named", Options{Load: load("constant:5")}, ""},
		{"burst", Options{Load: load("constant:5"), Scenarios: burst}, "scenario burst has arrivals of its own"},
		{"closed burst", Options{Load: load("closed"), Scenarios: burst}, ""},
		{"idle-race behind a proxy", Options{Load: load("constant:5"), Proxies: proxies, Scenarios: []string{"idle-race"}}, "scenario idle-race has arrivals of its own"},
		{"restart behind a proxy", Options{Load: load("constant:5"), Proxies: proxies, Scenarios: []string{"restart"}}, ""},
		{"nobody named behind a proxy", Options{Load: load("constant:5"), Proxies: proxies}, ""},
		{"target", Options{Load: load("poisson:5"), Target: "http://h/"}, ""},
		{"posts to a target", Options{Load: posts, Target: "http://h/"}, "a target gets GETs alone"},
		{"posts", Options{Load: posts, Scenarios: steady}, ""},
		{"seed", Options{Load: load("poisson:5"), Scenarios: steady, Seed: 1}, ""},
		{"seed of nothing", Options{Load: load("constant:5"), Scenarios: steady, Seed: 1}, "nothing is random"},
		{"workers", Options{Load: load("constant:5"), Scenarios: steady, Workers: 4}, "is for a closed load"},
		{"ramp without an end", Options{Load: load("ramp:1-5"), Scenarios: steady, Requests: 10}, "must be said, by duration"},
		{"ramp", Options{Load: load("ramp:1-5"), Scenarios: steady, Requests: 10, Duration: time.Second}, ""},
		{"a log of ages", Options{Load: Load{kind: "replay", file: "ages", log: []arrival{{n: 1}, {at: math.MaxInt64, n: 1}}}, Scenarios: steady}, "more than an hour in 3 rounds"},
		{"too long a log", Options{Load: long, Scenarios: steady}, "more than an hour in 3 rounds"},
		{"too long a log, cut", Options{Load: long, Scenarios: steady, Duration: time.Minute}, ""},
		{"a long log once", Options{Load: long, Scenarios: steady, Rounds: 1}, ""},
	} {
		_, err := tt.o.plan()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	p, err := Options{Load: load("poisson:5"), All: true}.plan()
	if err != nil || p.Seed == 0 {
		t.Fatalf("seed %d, %v; want one", p.Seed, err)
	}
	for _, s := range p.scenarios() {
		if !s.loads {
			t.Errorf("scenario %s, which isn't for loads, runs unnamed", s.name)
		}
	}
	if p, err = (Options{Load: long, Scenarios: steady, Rounds: 1}).plan(); err != nil || p.Duration != 40*time.Minute+time.Millisecond {
		t.Errorf("the log's rows run for %v, want as long as it lasts", p.Duration)
	}
}

// load is ParseLoad of what is right.
func load(text string) Load {
	l, err := ParseLoad(text)
	if err != nil {
		panic(err)
	}
	return l
}
