package dialer

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"
)

// This file says what a dial's stages tell of the address, for the Memory.

// slowOpening is how long TLS may take: a caller whose context ends before has only been in a
// hurry.
const slowOpening = time.Second

// noteOpening remembers whether TLS, or the proxy, was reached at the address that l has
// connected to.
func (d *Dialer) noteOpening(l *Link, err error) {
	if err == nil {
		d.noteWorked(l, troubleOpen)
		return
	}
	if _, ended := errors.AsType[*endedError](err); !ended || l.TLSTook >= slowOpening {
		d.Memory.failed(l.addr, troubleOpen)
	}
}

// noteWorked remembers that l has come so far.
func (d *Dialer) noteWorked(l *Link, upTo trouble) {
	d.Memory.worked(l.addr, upTo)
	d.Memory.forget(l.failed)
}

// proxyFailed tells whether an error of the proxy stage is the proxy's own, and not its
// answer, nor the caller's doing.
func proxyFailed(err error) bool {
	refusal, _ := errors.AsType[*ProxyError](err)
	_, socks := errors.AsType[*SOCKSError](err)
	_, hook := errors.AsType[*HookError](err)
	_, ended := errors.AsType[*endedError](err)
	return !(refusal != nil && refusal.Status != 0 || socks || hook || ended)
}

// noteTries remembers the attempts of a race in which each had its turn alone for so long.
func (m *Memory) noteTries(tries []Try, turn time.Duration) {
	won := slices.ContainsFunc(tries, func(t Try) bool { return t.Err == nil })
	for _, t := range tries {
		if t.Err != nil && t.tells(turn, won) {
			m.failed(t.Addr, troubleConnect)
		}
	}
}

// tells reports whether a failed attempt says something about its address. One that was given
// up, as another has won or the time was over, does if it had its turn; but not if the caller
// has gone, who might have got a connection a moment later.
func (t *Try) tells(turn time.Duration, won bool) bool {
	switch {
	case errors.Is(t.Err, context.Canceled):
		return won && t.Took >= turn
	case errors.Is(t.Err, context.DeadlineExceeded):
		return t.Took >= turn
	}
	return !slices.ContainsFunc(ownFaults, func(own error) bool { return errors.Is(t.Err, own) })
}

// ownFaults are errors of this host's. They cost no time.
var ownFaults = []error{
	syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT,
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.EACCES, syscall.EPERM,
}
