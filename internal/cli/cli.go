// Package cli has what the commands of this module share: how they refuse a command line,
// and how they tell a flag that was given from its default.
package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// A UsageError is a mistake on the command line that cobra doesn't know of.
type UsageError struct{ Text string }

// Error returns the text.
func (e *UsageError) Error() string { return e.Text }

// Usagef returns a *UsageError with that text.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// NoArgs refuses arguments in words of its own: cobra's call them unknown commands.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, got %q", cmd.Name(), args[0])
	}
	return nil
}

// Named makes a list that was given without a name in it one with an empty name,
// which is refused with those that are known.
func Named(cmd *cobra.Command, flag string, list *[]string) {
	if len(*list) == 0 && cmd.Flags().Changed(flag) {
		*list = []string{""}
	}
}

// Unset makes a flag's default zero, for options where zero means "not set": given
// explicitly, it may be refused.
func Unset[T any](cmd *cobra.Command, flag string, value *T) {
	if !cmd.Flags().Changed(flag) {
		*value = *new(T)
	}
}

// Positive refuses zeros that options would take for "not set".
func Positive(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		f := cmd.Flags().Lookup(name)
		if v := f.Value.String(); f.Changed && (v == "0" || v == "0s") {
			return Usagef("--%s must be more than 0", name)
		}
	}
	return nil
}

// Wrap breaks a text between words into lines of at most width bytes.
func Wrap(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
