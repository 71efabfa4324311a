package benchhtml

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/connwise/bench"
)

// none stands where a report says nothing.
const none = "–"

// count writes a number in groups of three digits.
func count[T int | int64](n *T) string {
	if n == nil {
		return none
	}
	return grouped(strconv.FormatInt(int64(*n), 10))
}

func grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// fixed writes so many decimals, so that the numbers of a column align.
func fixed(x *float64, decimals int) string {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return none
	}
	whole, part, _ := strings.Cut(strconv.FormatFloat(*x, 'f', decimals, 64), ".")
	if decimals == 0 {
		return grouped(whole)
	}
	return grouped(whole) + "." + part
}

// millis writes microseconds as milliseconds.
func millis(us *float64) string {
	if us == nil {
		return none
	}
	return fixed(new(*us/1e3), 3)
}

func ratio(q *bench.Ratio) string {
	if q == nil {
		return none
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", q.Median, q.Low, q.High)
}

// duration writes microseconds for people, with three digits that say something.
func duration(us float64) string {
	switch {
	case us >= 1e6:
		return significant(us/1e6) + " s"
	case us >= 1e3:
		return significant(us/1e3) + " ms"
	}
	return significant(us) + " µs"
}

func significant(x float64) string {
	s := strconv.FormatFloat(x, 'g', 3, 64)
	if strings.ContainsRune(s, 'e') {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return s
}

// mostDrawn bounds what is drawn: axes have to reach beyond it.
const mostDrawn = 1e15

// number is x if it is one that can be drawn.
func number(x *float64) (float64, bool) {
	if x == nil || !(*x >= 0 && *x <= mostDrawn) {
		return 0, false
	}
	return *x, true
}
