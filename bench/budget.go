package bench

import "time"

// How long a run takes that isn't told how long its rows are: it ends within a minute on two
// cores, and one of all scenarios within five.
const (
	quickTime = 52 * time.Second
	allTime   = 270 * time.Second
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
		return p.shared(total, p.rows)
	case p.target == nil && p.Requests > 0:
		return untilMade
	}
	return usualLength
}

// shared is how long each of the rows is measured if all of them, with what has to be done
// before and after, have so much time. What earlier rows took more than planned, as the
// machine was busy, is taken from the later ones.
func (p *plan) shared(left time.Duration, rows []row) time.Duration {
	turns := 0 // of clients in rows
	for _, w := range rows {
		n := len(p.clientsOf(w))
		turns += n
		left -= time.Duration(n*p.Rounds) * w.overhead()
	}
	length := (left / time.Duration(max(1, turns))).Truncate(10 * time.Millisecond)
	return max(leastLength, min(usualLength, length))
}

// overhead guesses how long the beginning and the end of a round take: starting a server and
// clearing away, and opening the connections that the row's size says.
func (w row) overhead() time.Duration {
	const round, perConn, perTLS = 80 * time.Millisecond, 150 * time.Microsecond, time.Millisecond
	conn := perConn
	if w.proto.tls {
		conn = perTLS
	}
	return round + time.Duration(w.size)*conn
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
