package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/connwise/internal/cli"
	"example.com/connwise/internal/texttable"
	"example.com/connwise/retry"
)

func newPolicy() *cobra.Command {
	var asJSON, headOnly bool
	cmd := &cobra.Command{
		Use:   "policy [NAME]",
		Short: "Print what a retry policy does with each failure",
		Long: `policy prints a preset of package retry: how often and after which waits it sends a
request again, and the matrix of when: what is known of the failure and how far the
request got before it, whether it was a timeout, and the method.

` + policyLegend + `
Presets: ` + strings.Join(retry.Names(), ", ") + ". Without a name: " + retry.Names()[0] + `.
system-a and system-b are other names of never-timeouts and once.`,
		Example: `  connwise policy
  connwise policy never-timeouts
  connwise policy --resend-head-only
  connwise policy once --json | jq '.rows[] | select(.method == "POST" and .retry)'`,
		Args:      onePolicy,
		ValidArgs: retry.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := retry.Names()[0]
			if len(args) > 0 {
				name = args[0]
			}
			p, ok := retry.Named(name)
			if !ok || name == "" {
				return cli.Usagef("policy: unknown preset %q; known: %s", name, strings.Join(retry.Names(), ", "))
			}
			p.ResendHeadOnly = headOnly
			if err := printPolicy(cmd.OutOrStdout(), name, p, asJSON); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: a row for each phase, timeout, method and opt-in")
	cmd.Flags().BoolVar(&headOnly, "resend-head-only", false, "with the policy's ResendHeadOnly: send again what the peer has the head of at most")
	return cmd
}

func onePolicy(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("policy: takes one preset, got %q; known: %s", args, strings.Join(retry.Names(), ", "))
	}
	return nil
}

const policyLegend = `  yes   sent again
  key   sent again with an Idempotency-Key header, or the caller's word for it
  call  sent again only on the caller's word for it (retry.WithIdempotent)
  -     not sent again
"sending, head only": the body waited for the peer's 100 Continue, and the connection ended
(pool.Error.HeadOnly). With --resend-head-only it is sent again, by retry.Policy.ResendHeadOnly.
`

// printPolicy writes a preset; the error is w's.
func printPolicy(w io.Writer, name string, p retry.Policy, asJSON bool) error {
	m := matrix{Policy: name, Rows: retry.Matrix(p)}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(m)
	}
	if !slices.ContainsFunc(m.Rows, func(r retry.Row) bool { return r.Retry }) {
		_, err := fmt.Fprintf(w, "policy %s: nothing is sent again\n", name)
		return err
	}
	if _, err := fmt.Fprintf(w, "policy %s\n%s\n", name, describe(p)); err != nil {
		return err
	}
	if err := m.writeTable(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", policyLegend)
	return err
}

// A matrix is a preset's verdicts.
type matrix struct {
	Policy string      `json:"policy"`
	Rows   []retry.Row `json:"rows"`
}

// writeTable prints a row for each failure and timeout, and a column for each method.
func (m matrix) writeTable(w io.Writer) error {
	type failure struct {
		evidence, phase string
		timeout         bool
	}
	var failures []failure
	var methods []string
	cells := make(map[failure]map[string]string)
	for _, r := range m.Rows {
		f := failure{r.Evidence, phaseText(r), r.Timeout}
		if cells[f] == nil {
			failures = append(failures, f)
			cells[f] = make(map[string]string)
		}
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
		cells[f][r.Method] = weaker(cells[f][r.Method], r)
	}
	rows := make([][]string, len(failures))
	for i, f := range failures {
		rows[i] = []string{f.evidence, f.phase, map[bool]string{true: "yes", false: "no"}[f.timeout]}
		for _, method := range methods {
			rows[i] = append(rows[i], cells[f][method])
		}
	}
	return texttable.Write(w, slices.Concat([]string{"evidence", "phase", "timeout"}, methods), rows, 3+len(methods))
}

func phaseText(r retry.Row) string {
	switch {
	case r.HeadOnly:
		return r.Phase + ", head only"
	case r.Stage != "":
		return r.Phase + ", " + r.Stage
	}
	return r.Phase
}

// weaker returns the cell for the least opt-in with which the request is sent
// again; rows come in the order none, header, call.
func weaker(cell string, r retry.Row) string {
	if cell != "" && cell != "-" {
		return cell
	}
	if !r.Retry {
		return "-"
	}
	switch r.OptIn {
	case retry.OptInHeader.String():
		return "key"
	case retry.OptInCall.String():
		return "call"
	}
	return "yes"
}
