package sidecar

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"example.com/connwise/dialer"
	"example.com/connwise/retry"
)

// An option is a value that has a name.
type option[T comparable] struct {
	name  string
	value T
}

// choice is one of several values.
type choice[T comparable] struct {
	p       *T
	options []option[T]
}

// words is a choice among texts, which stand for themselves.
func words(p *string, names ...string) choice[string] {
	c := choice[string]{p: p}
	for _, n := range names {
		c.options = append(c.options, option[string]{n, n})
	}
	return c
}

func (choice[T]) Type() string { return "choice" }

func (c choice[T]) String() string { return nameOf(c.options, *c.p) }

func (c choice[T]) Set(text string) (err error) {
	*c.p, err = valueOf(c.options, text, *c.p)
	return err
}

// Names are the texts that there are to choose from.
func (c choice[T]) Names() []string { return namesOf(c.options) }

func namesOf[T comparable](options []option[T]) []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.name
	}
	return names
}

func nameOf[T comparable](options []option[T], v T) string {
	for _, o := range options {
		if o.value == v {
			return o.name
		}
	}
	return ""
}

func valueOf[T comparable](options []option[T], text string, old T) (T, error) {
	for _, o := range options {
		if o.name == text {
			return o.value, nil
		}
	}
	return old, fmt.Errorf("%q is none of %s", text, strings.Join(namesOf(options), ", "))
}

var (
	timeoutsOptions = []option[retry.Timeouts]{
		{"unprocessed", retry.TimeoutsUnprocessed}, {"never", retry.TimeoutsNever}, {"always", retry.TimeoutsAlways},
	}
	nextConnOptions = []option[retry.NextConn]{
		{"elsewhere", retry.NextElsewhere}, {"fresh", retry.NextFresh}, {"any", retry.NextAny},
	}
	stageOptions = []option[retry.StageRule]{
		{"retry", retry.StageRetry}, {"not-timeouts", retry.StageNotTimeouts}, {"never", retry.StageNever},
	}
)

// stage is a policy's rule for one stage of opening a connection.
type stage struct {
	policy *retry.Policy
	stage  dialer.Stage
}

func (stage) Type() string     { return "choice" }
func (s stage) String() string { return nameOf(stageOptions, s.policy.Stages[s.stage]) }

// Names are the texts that there are to choose from.
func (stage) Names() []string { return namesOf(stageOptions) }

func (s stage) Set(text string) error {
	rule, err := valueOf(stageOptions, text, retry.StageRetry)
	if err != nil {
		return err
	}
	if rule == retry.StageRetry { // as if nobody had said anything
		delete(s.policy.Stages, s.stage)
		return nil
	}
	if s.policy.Stages == nil {
		s.policy.Stages = make(map[dialer.Stage]retry.StageRule)
	}
	s.policy.Stages[s.stage] = rule
	return nil
}

// list is a list of texts, written with commas between them. For a nil list stands the word all,
// if there is one, and none for an empty one.
type list struct {
	p   *[]string
	all string
}

func (list) Type() string { return "list" }

func (l list) String() string {
	switch {
	case *l.p == nil && l.all != "":
		return l.all
	case len(*l.p) == 0:
		return none
	}
	return strings.Join(*l.p, ", ")
}

func (l list) Set(text string) error {
	switch {
	case text == l.all && l.all != "":
		*l.p = nil
		return nil
	case text == none && l.all == "":
		*l.p = []string{}
		return nil
	}
	items := splitList(text)
	if slices.Contains(items, "") {
		return fmt.Errorf("%q has an empty entry", text)
	}
	*l.p = items
	return nil
}

func splitList(text string) []string {
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// statuses is a list of HTTP statuses.
type statuses struct{ p *[]int }

func (statuses) Type() string { return "list" }

func (s statuses) String() string {
	if len(*s.p) == 0 {
		return none
	}
	texts := make([]string, len(*s.p))
	for i, n := range *s.p {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ", ")
}

func (s statuses) Set(text string) error {
	if text == none {
		*s.p = nil
		return nil
	}
	var all []int
	for _, item := range splitList(text) {
		n, err := strconv.Atoi(item)
		if err != nil {
			return fmt.Errorf("%q is no status, as 429 is", item)
		}
		all = append(all, n)
	}
	*s.p = all
	return nil
}

// mode is the permissions of a socket, in octal digits.
type mode struct{ p *fs.FileMode }

func (mode) Type() string     { return "mode" }
func (m mode) String() string { return fmt.Sprintf("0%03o", *m.p) }

func (m mode) Set(text string) error {
	n, err := strconv.ParseUint(text, 8, 9)
	if err != nil {
		return fmt.Errorf("%q is no mode in octal digits, as 0660 is", text)
	}
	*m.p = fs.FileMode(n)
	return nil
}
