package benchdiff

import (
	"fmt"
	"slices"

	"example.com/connwise/bench"
)

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
	differ("command", a.Command, b.Command)
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
