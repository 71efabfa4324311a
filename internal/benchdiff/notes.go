package benchdiff

import (
	"fmt"
	"regexp"
	"slices"

	"example.com/connwise/bench"
)

// outputs are the flags of a command that change nothing but where the report goes.
var outputs = regexp.MustCompile(` --((out|html) ('[^']*'|\S)+|json|quiet|wide)`)

// notes say in what the runs differ besides their figures.
func notes(a, b bench.Report) []string {
	list := []string{}
	differ := func(what, x, y string) {
		if x != y {
			list = append(list, fmt.Sprintf("%s differs: %s, %s", what, orNone(x), orNone(y)))
		}
	}
	m, n := a.Machine, b.Machine
	differ("CPU", m.CPU, n.CPU)
	differ("number of CPUs", fmt.Sprint(m.CPUs), fmt.Sprint(n.CPUs))
	differ("system", m.OS+"/"+m.Arch+" "+m.System, n.OS+"/"+n.Arch+" "+n.System)
	differ("Go", m.Go, n.Go)
	differ("connwise", m.Version, n.Version)
	differ("command", outputs.ReplaceAllString(a.Command, ""), outputs.ReplaceAllString(b.Command, ""))
	differ("seed of random times", fmt.Sprint(a.Seed), fmt.Sprint(b.Seed))
	for i, r := range []bench.Report{a, b} {
		if slices.ContainsFunc(r.Results, func(r bench.Result) bool { return r.Partial }) {
			list = append(list, "AB"[i:i+1]+" was interrupted, and has rows of fewer rounds")
		}
	}
	for _, c := range a.Clients {
		i := slices.IndexFunc(b.Clients, func(o bench.ClientNote) bool { return o.Name == c.Name })
		if i >= 0 && b.Clients[i].Note != c.Note {
			list = append(list, c.Name+" was configured otherwise: "+c.Note+"; "+b.Clients[i].Note)
		}
	}
	return list
}

func orNone(s string) string {
	if s == "" {
		return "not said"
	}
	return s
}
