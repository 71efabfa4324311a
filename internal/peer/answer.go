package peer

import "strconv"

const maxBody = 16 << 20

// copied is the longest body that is copied behind its answer's head, to leave in one write.
const copied = 64 << 10

// A plan is Faults prepared for use: what they say, and the fixed part of the answers.
type plan struct {
	Faults
	headers string // behind the id, with the empty line
	closing string // the same with "Connection: close"
	body    []byte
}

func newPlan(f Faults) *plan {
	f.BodySize = min(max(f.BodySize, 0), maxBody)
	if f.Style == "" {
		f.Style = FIN
	}
	rest := "\r\nContent-Type: text/plain\r\nContent-Length: " + strconv.Itoa(f.BodySize) + "\r\n"
	return &plan{
		Faults:  f,
		headers: rest + "\r\n",
		closing: rest + "Connection: close\r\n\r\n",
		body:    Pattern(f.BodySize),
	}
}

// answer appends the answer to q. A long body isn't, and comes as rest.
func (p *plan) answer(b []byte, q request, announce bool) (out, rest []byte) {
	b = append(b, "HTTP/1.1 200 OK\r\n"+HeaderID+": "...)
	b = strconv.AppendUint(b, q.id, 10)
	if announce {
		b = append(b, p.closing...)
	} else {
		b = append(b, p.headers...)
	}
	switch {
	case q.head:
		return b, nil
	case len(p.body) > copied:
		return b, p.body
	}
	return append(b, p.body...), nil
}
