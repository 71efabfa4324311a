package oracle

import (
	"math/rand/v2"
	"time"
)

// A fate is what a peer does to a connection or a request.
type fate string

// Fates of a connection that was accepted.
const (
	fateServe     fate = "serve"
	fateShut      fate = "closed at once"
	fateCut       fate = "reset at once"
	fateHelloCut  fate = "reset in the TLS handshake"
	fateHelloShut fate = "closed in the TLS handshake"
	fateGoneAway  fate = "GOAWAY at once"
	fateRefuse    fate = "nobody listens"
)

// Fates of a connection that is idle.
const (
	fateStay     fate = "stay"
	fateIdleShut fate = "closed while idle"
	fateIdle408  fate = "408 while idle"
)

// Fates of a request.
const (
	fateAnswer      fate = "answer"
	fateFirstByte   fate = "lost at the first byte"
	fateInHead      fate = "lost in the head"
	fateInBody      fate = "lost in the body"
	fateRunInBody   fate = "executed at the head, lost in the body"
	fateBefore      fate = "lost before execution"
	fateAfter       fate = "lost after execution"
	fateHalf        fate = "lost in the answer"
	fateHintBefore  fate = "103, then lost before execution"
	fateHintAfter   fate = "103, then lost after execution"
	fateEarly       fate = "answered before the body, then closed"
	fateLast        fate = "answered with Connection: close"
	fateSilentLast  fate = "answered, then closed"
	fateRefuseHead  fate = "refused before the body"
	fateRefuseWhole fate = "refused behind the body"
	fateHintRefuse  fate = "103, then refused"
	fateResetHead   fate = "reset before the body"
	fateResetWhole  fate = "reset before execution"
	fateResetAfter  fate = "reset after execution"
	fateResetHalf   fate = "executed, answered in part, then refused"
	fateAwayHead    fate = "GOAWAY below, before the body"
	fateAwayWhole   fate = "GOAWAY below, behind the body"
	fateAwayAt      fate = "GOAWAY at the stream"
	fateAwayAbove   fate = "GOAWAY above the stream"
	fateAwayGrace   fate = "GOAWAY in two steps"
	fateAwayCut     fate = "GOAWAY, then reset"
	fateLimit       fate = "other limit of streams"
	fateCrowded     fate = "refused beyond the limit of streams"
)

// A choice is a fate and its weight.
type choice struct {
	fate   fate
	weight int
}

// draw returns one of the choices at random.
func draw(rng *rand.Rand, choices []choice) fate {
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := rng.IntN(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			return c.fate
		}
	}
	panic("unreachable")
}

var (
	plainConnFates = []choice{{fateServe, 93}, {fateShut, 4}, {fateCut, 3}}
	tlsConnFates   = []choice{{fateServe, 90}, {fateShut, 3}, {fateCut, 3}, {fateHelloCut, 2}, {fateHelloShut, 2}}
	h2cConnFates   = append([]choice{{fateGoneAway, 3}}, plainConnFates...)
	h2ConnFates    = append([]choice{{fateGoneAway, 3}}, tlsConnFates...)

	idleFates = []choice{{fateStay, 80}, {fateIdleShut, 17}, {fateIdle408, 3}}

	h1Fates = []choice{
		{fateAnswer, 740}, {fateFirstByte, 20}, {fateInHead, 20}, {fateInBody, 20}, {fateRunInBody, 20}, {fateBefore, 30},
		{fateAfter, 30}, {fateHalf, 20}, {fateHintBefore, 10}, {fateHintAfter, 10}, {fateEarly, 20},
		{fateLast, 40}, {fateSilentLast, 30},
	}
	h2HeadFates = []choice{
		{fateServe, 880}, {fateRefuseHead, 30}, {fateResetHead, 15}, {fateAwayHead, 20}, {fateEarly, 15},
		{fateInBody, 8}, {fateRunInBody, 12}, {fateHintBefore, 5}, {fateLimit, 20}, {fateAwayCut, 5},
	}
	h2WholeFates = []choice{
		{fateAnswer, 780}, {fateRefuseWhole, 30}, {fateHintRefuse, 5}, {fateResetWhole, 15}, {fateResetAfter, 15},
		{fateResetHalf, 10}, {fateHalf, 10}, {fateBefore, 15}, {fateAfter, 15}, {fateAwayWhole, 25}, {fateAwayAt, 20},
		{fateAwayAbove, 20}, {fateAwayGrace, 20}, {fateHintAfter, 10}, {fateAwayCut, 10},
	}
)

// A style is how a peer closes a connection.
type style uint8

const (
	styleFIN    style = iota // FIN, with TLS behind a close_notify; what comes is still read
	styleNotify              // with TLS a close_notify alone; what comes is still read
	styleClose               // the socket is closed: what comes is answered by a reset
	styleRST                 // a reset
)

func drawStyle(rng *rand.Rand) style {
	return [...]style{styleFIN, styleFIN, styleFIN, styleNotify, styleClose, styleRST, styleRST}[rng.IntN(7)]
}

// span is a time up to d, at random.
func span(rng *rand.Rand, d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }

// fates are all that a peer knows.
func (p proto) fates() []fate {
	all := []fate{fateRefuse}
	lists := [][]choice{p.conns, idleFates, h1Fates}
	if p.h2 {
		all = append(all, fateCrowded)
		lists = [][]choice{p.conns, h2HeadFates, h2WholeFates}
	}
	for _, l := range lists {
		for _, c := range l {
			if c.fate != fateStay {
				all = append(all, c.fate)
			}
		}
	}
	return all
}
