package sidecar

import "strings"

// A SettingError is a setting that can't be.
type SettingError struct {
	// Where it was made: "file:line", "--flag", or empty for a default.
	Where  string
	Key    string // of the setting; empty if the file as a whole is meant
	Reason string // what is wrong, and what would be right
}

// Error names the place, the setting and the reason.
func (e *SettingError) Error() string {
	parts := []string{e.Where, e.Key, e.Reason}
	if strings.HasPrefix(e.Where, "--") {
		parts[1] = "" // the flag says it
	}
	var b strings.Builder
	for _, p := range parts {
		if p != "" && b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(p)
	}
	return b.String()
}

// SettingErrors are all that is wrong with the settings, in the order of the file and of the
// command line.
type SettingErrors []*SettingError

// Error has a line for each.
func (e SettingErrors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}
