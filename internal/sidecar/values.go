package sidecar

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Value is what a setting holds, as text: in a file, on the command line, and printed. Its
// methods are those of pflag.Value.
type Value interface {
	String() string
	Set(text string) error
	Type() string
}

// off says what a setting has for "none", in the field that it is about.
type off uint8

const (
	offZero     off = iota // zero
	offNegative            // a negative value, as zero stands for the default
	offNever               // there is no "none"
	offAuto                // zero, and it isn't "none" but "auto": the library's choice
)

// none is the text of a setting that is switched off, and auto that of one that isn't made.
const (
	none = "none"
	auto = "auto"
)

// word returns the text for a number that stands for none or auto.
func (o off) word(sign int) (text string, ok bool) {
	switch {
	case o == offZero && sign == 0, o == offNegative && sign < 0:
		return none, true
	case o == offAuto && sign == 0:
		return auto, true
	case o == offAuto && sign < 0:
		return none, true
	}
	return "", false
}

// read returns the number (-1 or 0) that a word stands for, if text is one.
func (o off) read(text string) (number int, ok bool) {
	switch {
	case o == offZero && (text == none || text == "0"):
		return 0, true
	case (o == offNegative || o == offAuto) && (text == none || text == "0"):
		return -1, true
	case o == offAuto && text == auto:
		return 0, true
	}
	return 0, false
}

// words tells which words there are beside numbers.
func (o off) words() string {
	return [...]string{offZero: ", or none", offNegative: ", or none", offAuto: ", none or auto"}[min(o, offAuto)]
}

type duration struct {
	p   *time.Duration
	off off
}

func (duration) Type() string { return "duration" }

func (d duration) String() string {
	if text, ok := d.off.word(cmp.Compare(*d.p, 0)); ok {
		return text
	}
	return shortDuration(*d.p)
}

func (d duration) Set(text string) error {
	if n, ok := d.off.read(text); ok {
		*d.p = time.Duration(n)
		return nil
	}
	v, err := time.ParseDuration(text)
	switch _, number := strconv.ParseFloat(text, 64); {
	case err != nil && number == nil:
		return fmt.Errorf("%s has no unit; write %ss, %sms or %sm", text, text, text, text)
	case err != nil:
		return fmt.Errorf("%q is no duration; write one like 500ms, 60s or 2m%s", text, d.off.words())
	case v <= 0:
		return fmt.Errorf("%s must be more than 0%s", text, d.off.words())
	}
	*d.p = v
	return nil
}

// shortDuration is d without units of zero: 1h, not 1h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

type count struct {
	p   *int
	off off
}

func (count) Type() string { return "number" }

func (c count) String() string {
	if text, ok := c.off.word(*c.p); ok {
		return text
	}
	return strconv.Itoa(*c.p)
}

func (c count) Set(text string) error {
	if n, ok := c.off.read(text); ok {
		*c.p = n
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return fmt.Errorf("%q is no number of 1 or more%s", text, c.off.words())
	}
	*c.p = int(n)
	return nil
}

type share struct {
	p   *float64
	off off
}

func (share) Type() string { return "share" }

func (s share) String() string {
	if text, ok := s.off.word(cmp.Compare(*s.p, 0)); ok {
		return text
	}
	return strconv.FormatFloat(*s.p, 'g', -1, 64)
}

func (s share) Set(text string) error {
	if n, ok := s.off.read(text); ok {
		*s.p = float64(n)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is no share, as 0.1 is for 10 %%%s", text, s.off.words())
	}
	*s.p = f
	return nil
}

// size is a number of bytes.
type size struct {
	p   *int64
	off off
}

var sizeUnits = []struct {
	name string
	n    int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func (size) Type() string { return "size" }

func (s size) String() string {
	if text, ok := s.off.word(cmp.Compare(*s.p, 0)); ok {
		return text
	}
	for _, u := range sizeUnits {
		if *s.p%u.n == 0 && *s.p >= u.n {
			return strconv.FormatInt(*s.p/u.n, 10) + u.name
		}
	}
	return "0B"
}

func (s size) Set(text string) error {
	if n, ok := s.off.read(text); ok {
		*s.p = int64(n)
		return nil
	}
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		if n <= 0 || n > math.MaxInt64/u.n {
			return fmt.Errorf("%s is no size that could be", text)
		}
		*s.p = n * u.n
		return nil
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return fmt.Errorf("%s has no unit; write %sB, %sKiB or %sMiB", text, text, text, text)
	}
	return fmt.Errorf("%q is no size; write one like 512B, 64KiB or 8MiB%s", text, s.off.words())
}

type boolean struct{ p *bool }

func (boolean) Type() string { return "bool" }

// IsBoolFlag lets a flag stand for true without a value.
func (boolean) IsBoolFlag() bool { return true }

func (b boolean) String() string { return strconv.FormatBool(*b.p) }

func (b boolean) Set(text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*b.p = text == "true"
	return nil
}

// plain is any text.
type plain struct{ p *string }

func (plain) Type() string     { return "text" }
func (t plain) String() string { return *t.p }

func (t plain) Set(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("has a control character")
	}
	*t.p = text
	return nil
}
