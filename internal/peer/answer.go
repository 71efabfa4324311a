package peer

import (
	"bytes"
	"strconv"
)

const maxBody = 16 << 20

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
		body:    bytes.Repeat([]byte{'x'}, f.BodySize),
	}
}

// answer appends the answer to q.
func (p *plan) answer(b []byte, q request, announce bool) []byte {
	b = append(b, "HTTP/1.1 200 OK\r\n"+HeaderID+": "...)
	b = strconv.AppendUint(b, q.id, 10)
	if announce {
		b = append(b, p.closing...)
	} else {
		b = append(b, p.headers...)
	}
	if q.head {
		return b
	}
	return append(b, p.body...)
}
