package bench

import (
	"fmt"
	"strings"
)

// Wrong says in a few words what a client did in the row that none should, whatever the server
// does: calls that it sent so that they were executed twice, reported as done that never were,
// let fail that the server never got, or whose bodies it damaged; and what it did against RFC
// 9113. It is empty where there is nothing of it, and where nobody counts (Options.Target).
//
// A request that crosses the server's timeout can't be told from these. Where timers were late
// by as much as a client keeps from an idle timeout, it is said, too.
func (r Result) Wrong() string {
	var s []string
	for _, n := range []struct {
		count *int64
		what  string
	}{
		{r.ExecutedTwice, "executed twice"}, {r.Lost, "lost"}, {r.Avoidable, "failed avoidably"}, {r.Damaged, "damaged"}, {&r.Violations, "against RFC 9113"},
	} {
		if n.count != nil && *n.count != 0 {
			s = append(s, fmt.Sprintf("%d %s", *n.count, n.what))
		}
	}
	if len(s) > 0 && r.TimersLate != nil {
		s = append(s, fmt.Sprintf("timers up to %v ms late", *r.TimersLate))
	}
	return strings.Join(s, ", ")
}
