package probe

import (
	"context"
	"slices"
	"strings"
	"time"
)

// The words of How.
const (
	wordGoAway  = "goaway"
	word408     = "408"
	wordSurplus = "surplus"
	wordNotify  = "close_notify"
	wordFIN     = "fin"
	wordReset   = "reset"
	wordAlert   = "alert"
	wordLingers = "lingers"
	wordBroken  = "protocol error"
)

// anyStream is the last id of a GOAWAY that only says that no new stream is wanted; the
// true one may follow (RFC 9113 section 6.8).
const anyStream = 1<<31 - 1

// An ending is what became of one connection.
type ending struct {
	began   time.Time // when the age began to count
	at      time.Time // of the first word
	closed  time.Time // when the connection was gone; zero: it wasn't
	words   []string  // of How; none: it was open to the end
	goAways []GoAway
	openFor time.Duration // without words: how long it was watched
}

func (e *ending) ended() bool { return len(e.words) > 0 }

func (e *ending) age() time.Duration { return e.at.Sub(e.began) }

// say notes a word of the peer's. The same word again adds nothing.
func (e *ending) say(word string, at time.Time) {
	if len(e.words) == 0 {
		e.at = at
	}
	if !slices.Contains(e.words, word) {
		e.words = append(e.words, word)
	}
	if word == wordFIN || word == wordReset {
		e.closed = at
	}
}

func (e *ending) how() string { return strings.Join(e.words, ", ") }

// over notes how reading ended with err.
func (e *ending) over(ctx context.Context, l *link, err error) {
	now := time.Now()
	switch word := l.word(err); {
	case word != "":
		e.say(word, now)
	case err == errTooLong:
		e.say(wordSurplus, now)
	case !isTimeout(err) && ctx.Err() == nil:
		e.say(wordBroken, now)
	case !e.ended():
		e.openFor = now.Sub(e.began)
	case ctx.Err() == nil:
		e.say(wordLingers, now)
	}
}

// outlast waits for the end of the TCP connection behind a close_notify.
func (e *ending) outlast(ctx context.Context, l *link) {
	if len(e.words) == 0 || e.words[len(e.words)-1] != wordNotify {
		return
	}
	defer l.allow(ctx, maxAnswer, e.at.Add(l.linger))()
	var b [512]byte
	for l.room > 0 {
		n, err := l.wire.Read(b[:])
		l.room -= int64(n)
		if err != nil {
			e.over(ctx, l, err)
			return
		}
	}
}

// goAwayStyle is Endings.GoAway for one connection.
func goAwayStyle(gs []GoAway) string {
	switch {
	case len(gs) == 0:
		return "none"
	case gs[0].LastStream != anyStream:
		return "final"
	case gs[len(gs)-1].LastStream != anyStream:
		return "two-step"
	}
	return "announced"
}
