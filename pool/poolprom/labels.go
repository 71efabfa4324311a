package poolprom

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A pair is shared by many metrics and never changes.
type pair = *dto.LabelPair

func newPair(name, value string) pair {
	value = valid(value)
	return &dto.LabelPair{Name: &name, Value: &value}
}

// valid is s, with bytes that are no UTF-8 written as \xNN: one label that isn't valid would cost
// the whole scrape.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// constPairs are the labels of Options.
func constPairs(l prometheus.Labels) []pair {
	var ps []pair
	for name, value := range l {
		ps = append(ps, newPair(name, value))
	}
	slices.SortFunc(ps, byName)
	return ps
}

func byName(a, b pair) int { return cmp.Compare(a.GetName(), b.GetName()) }

// with is ps, which are in the order of their names, and one more. ps are left as they are, and
// so is the result if somebody appends to it.
func with(ps []pair, p pair) []pair {
	i, _ := slices.BinarySearchFunc(ps, p, byName)
	all := make([]pair, len(ps)+1)
	copy(all, ps[:i])
	all[i] = p
	copy(all[i+1:], ps[i:])
	return all
}

// word is a reason as a label's value: "peer closed idle" is peer_closed_idle.
func word(reason string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		case r == '\'':
			return -1
		}
		return '_'
	}, reason)
}

// words are the values that a label has had, as reasons come from a small set. mostWords bounds
// what a StatsSource of somebody else's may make of it.
type words struct {
	name  string
	pairs map[string]pair
}

const mostWords = 100

func newWords(name string) *words { return &words{name, make(map[string]pair)} }

func (w *words) pair(reason string) pair {
	p := w.pairs[reason]
	if p == nil {
		p = newPair(w.name, word(reason))
		if len(w.pairs) < mostWords {
			w.pairs[reason] = p
		}
	}
	return p
}
