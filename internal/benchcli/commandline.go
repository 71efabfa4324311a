package benchcli

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandLine returns what runs cmd again as it was called: the flags that were given, in their
// order, quoted for a shell, without a URL's secrets.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	flags := cmd.Flags()
	sorted := flags.SortFlags
	flags.SortFlags = false
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" && f.Value.String() == "true" {
			words = append(words, "--"+f.Name)
			return
		}
		if f.Value.Type() == "bool" {
			words = append(words, "--"+f.Name+"="+f.Value.String())
			return
		}
		words = append(words, "--"+f.Name, quote(withoutSecrets(valueOf(f))))
	})
	flags.SortFlags = sorted
	for _, arg := range flags.Args() {
		words = append(words, quote(withoutSecrets(arg)))
	}
	return strings.Join(words, " ")
}

func valueOf(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote makes one word of a POSIX shell.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// withoutSecrets hides what in a URL may be one: user, password, and the values of the query. A
// report is shown to others. What is no URL stays.
func withoutSecrets(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return "..."
	}
	if u.User != nil {
		u.User = url.User("xxxxx")
	}
	if u.RawQuery != "" {
		u.RawQuery = hiddenQuery(u.RawQuery)
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = "xxxxx", ""
	}
	return u.String()
}

// hiddenQuery keeps the names of those that have a value. One without may be a token itself.
func hiddenQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, p := range parts {
		if name, _, ok := strings.Cut(p, "="); ok {
			parts[i] = name + "=xxxxx"
		} else if p != "" {
			parts[i] = "xxxxx"
		}
	}
	return strings.Join(parts, "&")
}
