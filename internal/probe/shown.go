package probe

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxWord  = 80  // bytes of what a peer calls something
	maxText  = 400 // bytes of what there is to say of it, an error's text for example
	maskText = "[hidden]"
	// leastSecret is the length from which on a header field's value is masked: were it
	// shorter, more would become unreadable than kept secret.
	leastSecret = 4
)

// A mask makes what a peer sent fit to be shown. It knows what the caller has sent in
// confidence, which a peer may send back in whatever it says: an echo service does so, and
// package net/http quotes in its errors what it can't read.
type mask []string

// maskOf masks the values of fields that were added to req, and its credentials.
func maskOf(added http.Header, req *http.Request) mask {
	var m mask
	add := func(value string) {
		m = append(m, value)
		if words := strings.Fields(value); len(words) == 2 { // a scheme and a token
			m = append(m, words[1])
		}
		if quoted := strconv.Quote(value); quoted != `"`+value+`"` { // as errors have it
			m = append(m, quoted[1:len(quoted)-1])
		}
	}
	for _, values := range added {
		for _, v := range values {
			add(v)
		}
	}
	if _, password, ok := req.BasicAuth(); ok {
		add(req.Header.Get("Authorization"))
		add(password)
	}
	m = slices.DeleteFunc(m, func(s string) bool { return len(s) < leastSecret })
	slices.SortFunc(m, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

// word is s as a short one, and text as a longer one.
func (m mask) word(s string) string { return m.show(s, maxWord) }
func (m mask) text(s string) string { return m.show(s, maxText) }

// show is s without secrets and control characters, cut to most bytes.
func (m mask) show(s string, most int) string {
	for _, secret := range m {
		s = strings.ReplaceAll(s, secret, maskText)
	}
	return printable(s, most)
}

// printable is s without control characters, cut to most bytes.
func printable(s string, most int) string {
	s = strings.ToValidUTF8(s[:min(len(s), most)], "?")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// error is err with a text that can be shown; nil stays nil.
func (m mask) error(err error) error {
	if err == nil {
		return nil
	}
	return &shownError{m.text(err.Error()), err}
}

// A shownError is an error in which a peer's words can be.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }
