package sidecar

import (
	"errors"
	"fmt"
	"slices"

	"example.com/connwise/pool"
	"example.com/connwise/retry"
)

// A Source is where settings come from.
type Source struct {
	File  string // YAML; empty: none
	Flags []Flag // they go before the file
}

// A Flag is a setting from the command line, as it was written.
type Flag struct{ Key, Text string }

// Load reads and checks settings: the defaults, changed by the file and then by the flags. The
// error is a SettingErrors with all that is wrong.
func Load(src Source) (*Settings, error) {
	var all []assignment
	var errs SettingErrors
	if src.File != "" {
		all, errs = readFile(src.File)
	}
	for _, f := range src.Flags {
		all = append(all, assignment{"--" + (&Setting{Key: f.Key}).Flag(), f.Key, f.Text})
	}
	s := bare()
	made := assign(s, all)
	errs = append(errs, made.errs...)
	if len(errs) > 0 {
		return nil, errs // what depends on several settings isn't worth a word yet
	}
	s.fill()
	for _, e := range s.check() {
		e.Where = made.where[e.Key]
		errs = append(errs, e)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return s, nil
}

// assigned is what became of assignments.
type assigned struct {
	where map[string]string // of a key, the last
	errs  SettingErrors
}

// assign sets them in s, the policy's name first as the others change what it names.
func assign(s *Settings, all []assignment) assigned {
	byKey := make(map[string]Setting)
	for _, t := range s.Table() {
		byKey[t.Key] = t
	}
	made := assigned{where: make(map[string]string)}
	set := func(a assignment) {
		made.where[a.key] = a.where
		t, known := byKey[a.key]
		if !known {
			made.errs = append(made.errs, &SettingError{a.where, a.key, "is no setting"})
		} else if err := t.Value.Set(a.text); err != nil {
			made.errs = append(made.errs, &SettingError{a.where, a.key, err.Error()})
		}
	}
	isPolicy := func(a assignment) bool { return a.key == policyKey }
	for _, a := range all {
		if isPolicy(a) {
			set(a)
		}
	}
	s.Policy, _ = retry.Named(s.PolicyName) // Set has refused other names
	for _, a := range slices.DeleteFunc(slices.Clone(all), isPolicy) {
		set(a)
	}
	return made
}

// check finds what the settings can't be together, and makes of them what is computed once. The
// errors have no Where.
func (s *Settings) check() (errs SettingErrors) {
	for _, c := range []func() *SettingError{s.checkUpstream, s.checkListen, s.checkAdmin, s.checkForward, s.checkDial, s.checkTLS, s.checkKeepAlive} {
		if err := c(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	u, err := newUpstream(s, nil)
	if err != nil {
		return SettingErrors{s.ofLibrary(err)}
	}
	u.leave()
	return nil
}

// ofLibrary finds the setting that a library's error is about.
func (s *Settings) ofLibrary(err error) *SettingError {
	field, reason := "", err.Error()
	if e, ok := errors.AsType[*pool.ConfigError](err); ok {
		field, reason = e.Field, e.Reason
	}
	if e, ok := errors.AsType[*retry.PolicyError](err); ok {
		field, reason = e.Field, e.Reason
	}
	if e, ok := errors.AsType[*retry.BudgetError](err); ok {
		field, reason = e.Field, e.Reason
	}
	for _, t := range s.Table() {
		if t.Field == field && field != "" {
			return wrong(t.Key, "%s", reason)
		}
	}
	return wrong("", "%s", err)
}

func wrong(key, format string, args ...any) *SettingError {
	return &SettingError{Key: key, Reason: fmt.Sprintf(format, args...)}
}
