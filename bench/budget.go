package bench

import "time"

// How long a run takes that isn't told how long its rows are: it ends within a minute on two
// cores, and one of all scenarios within five.
const (
	quickTime = 52 * time.Second
	allTime   = 260 * time.Second
)

// How long each row is measured, all its rounds together: usually, and at least.
const (
	usualLength = 2 * time.Second
	leastLength = 300 * time.Millisecond
	// untilMade is how long it may be in which Requests are to be made.
	untilMade = time.Hour
)

// budget is the time for the whole run; zero where each row has the usual length, or the one
// that was given.
func (p *plan) budget() time.Duration {
	switch {
	case p.own.Duration > 0 || p.own.Requests > 0 || p.target != nil || len(p.Scenarios) > 0 || len(p.Proxies) > 0 || p.Load.lasts() > 0:
		return 0
	case p.All:
		return allTime
	}
	return quickTime
}

// plannedLength is how long each row is measured where nothing is said, if all goes as planned.
func (p *plan) plannedLength() time.Duration {
	switch total := p.budget(); {
	case total > 0:
		return p.shared(total, p.rows, 1)
	case p.target == nil && p.Requests > 0:
		return untilMade
	}
	return usualLength
}

// shared is how long each of the rows is measured if all of them have so much time, with
// what has to be done before and after, which takes slow times what it usually does.
//
// Those that need more than the usual least aren't shared with: they get that.
func (p *plan) shared(left time.Duration, rows []row, slow float64) time.Duration {
	turns := 0 // of clients in rows
	for _, w := range rows {
		left -= time.Duration(slow * float64(p.overhead(w)))
		if w.scenario.least != nil {
			left -= time.Duration(len(p.clientsOf(w))) * p.least(w.scenario)
			continue
		}
		turns += len(p.clientsOf(w))
	}
	length := (left / time.Duration(max(1, turns))).Truncate(10 * time.Millisecond)
	return max(leastLength, min(usualLength, length))
}

// overhead guesses how long the beginnings and the ends of a row's rounds take: starting a
// server and clearing away, and opening the connections that the row's size says.
func (p *plan) overhead(w row) time.Duration {
	const round, perConn, perTLS = 80 * time.Millisecond, 150 * time.Microsecond, time.Millisecond
	conn := perConn
	if w.proto.tls {
		conn = perTLS
	}
	return time.Duration(len(p.clientsOf(w))*p.Rounds) * (round + time.Duration(w.size)*conn)
}

// A clock gives each row of a run its share of the time that is left. What earlier rows took
// more than planned, as the machine was busy, is taken from the later ones.
type clock struct {
	plan     *plan
	began    time.Time
	measured time.Duration // of the rows so far
	planned  time.Duration // what was to be done before and after
}

// take returns how long the first of the rows that are left is measured; zero: that isn't for
// the clock to say.
func (c *clock) take(rows []row) time.Duration {
	total := c.plan.budget()
	if total == 0 {
		return 0
	}
	length := max(leastLength, time.Duration(float64(c.plan.least(rows[0].scenario))/c.slow()))
	if rows[0].scenario.least == nil {
		length = c.plan.shared(total-time.Since(c.began), rows, c.slow())
	}
	c.measured += length * time.Duration(len(c.plan.clientsOf(rows[0])))
	c.planned += c.plan.overhead(rows[0])
	return length
}

// least is how long rows of s are measured at least.
func (p *plan) least(s scenario) time.Duration {
	if s.least == nil {
		return leastLength
	}
	return s.least(p)
}

// idleTimes are five idle timeouts in each round, so that a caller meets its end a few times.
func (p *plan) idleTimes() time.Duration { return time.Duration(p.Rounds) * 5 * p.IdleTimeout }

// slow is how many times as long as planned things take, within bounds: a single row may have
// taken its time for reasons of its own.
func (c *clock) slow() float64 {
	const most = 3
	if c.planned == 0 {
		return 1
	}
	return max(1, min(most, float64(time.Since(c.began)-c.measured)/float64(c.planned)))
}

// clientsOf are those that are in a row.
func (p *plan) clientsOf(w row) []Client {
	var clients []Client
	for _, c := range p.Clients {
		if c.has(w.scenario, w.proto) {
			clients = append(clients, c)
		}
	}
	return clients
}

// rounds counts the rounds of the run, all clients' together.
func (p *plan) rounds() int {
	n := 0
	for _, w := range p.rows {
		n += len(p.clientsOf(w)) * max(p.Rounds, 1)
	}
	return n
}
