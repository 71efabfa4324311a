package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page for each command into a directory, which it makes if it isn't
there. What they say is what --help says. Their date is SOURCE_DATE_EPOCH's, if that is set.`,
		Example: `  connwise man /usr/local/share/man/man1
  connwise man . && man ./connwise-proxy.1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeMan(cmd.Root(), args[0]); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			return nil
		},
	}
}

// writeMan writes the pages of root and what is below it. It changes root's texts.
func writeMan(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	root.InitDefaultHelpFlag()
	asPages(root)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "connwise " + root.Version, Manual: "connwise"}, dir)
}

// asPages makes the texts of help, which are laid out, into the Markdown that cobra takes for pages.
func asPages(cmd *cobra.Command) {
	cmd.Long = markdown(cmd.Long)
	for _, c := range cmd.Commands() {
		asPages(c)
	}
}

// markdown keeps indented lines as they are, by two more spaces and an empty line around them. In
// the others it lets nothing stand for more than itself.
func markdown(text string) string {
	var b strings.Builder
	was := false // the line before was indented
	for line := range strings.SplitSeq(text, "\n") {
		is := strings.HasPrefix(line, "  ")
		if is != was && line != "" {
			b.WriteString("\n")
			was = is
		}
		if is {
			line = "  " + line
		} else {
			line = escape.Replace(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

var escape = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`")
