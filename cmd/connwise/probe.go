package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/connwise/internal/cli"
	"example.com/connwise/internal/probe"
)

// maxCA bounds the file of --ca, in bytes.
const maxCA = 4 << 20

// probeFlags are those that probe.Options don't have as they are.
type probeFlags struct {
	caFile     string
	headers    []string
	asJSON     bool
	dryRun     bool
	noProgress bool
}

const probeHelp = `probe measures from outside what a server, or the proxy before it, does with its
connections, and prints the pool.Config that follows, as Go code to paste.

What it sends, of each protocol that is measured, all at the same time:

  --conns connections with one request each, opened within a second. They idle until
    the server ends them, and for --max at most.
  2 connections without any request, as a pool opens them in advance. They are watched
    for twice as long as the idle ones lasted, at least 15s.
  1 connection with up to --requests requests, one at a time and at most 100 a second,
    until the server wants no more, answers 429 or 5xx, or has sent 64 MiB, or --max
    is over.
    With --requests 0 it carries the first alone.
  with --verify, --conns connections again. Each sends a second request at an age of its
    own: --max for the oldest, half of that for the next, and so on. Only so one can
    see that something drops idle connections without a word, as NATs do.

It says so in numbers before it begins, on stderr; --dry-run says so and does nothing.
Requests are GETs of the URL, or what --method says, without a body. Redirects aren't
followed, proxies of the environment aren't used, and all connections go to the one
address that the first went to. With https it measures h2 and h1s, as far as the server
offers them; with http h1, and h2c only where --proto names it.

It takes about as long as the server's idle timeout, or --max; where that is short, the
unused connections and the requests make it up to 15s. Ctrl-C ends it and prints what is
known by then.

Rows:
  idle          when idle connections ended, counted from the last byte of the answer
  ended by      what the server says, in order: goaway, 408, close_notify, fin, reset;
                lingers: the connection is still open 10s after the first word
  unused        the same of connections without a request
  requests      answered on one connection, and how it told that it takes no more; "fin"
                or "reset": it didn't, and the next request may be lost
  goaway        final: with the last stream's number at once; two-step: with 2^31-1
                before; announced: with 2^31-1 alone; none: it ends without a word`

func newProbe() *cobra.Command {
	var o probe.Options
	var pf probeFlags
	cmd := &cobra.Command{
		Use:   "probe URL",
		Short: "Measure how long a server or proxy lets connections idle, and how it ends them",
		Long:  probeHelp,
		Example: `  connwise probe https://api.example/healthz
  connwise probe --max 15m --requests 0 http://10.0.0.7:8080/
  connwise probe --json https://api.example/healthz | jq .recommended`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			cli.Named(cmd, "proto", &o.Protos)
			o.URL = args[0]
			return runProbe(cmd, o, pf)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Protos, "proto", nil, "protocols to measure: h1, h1s, h2, h2c (default those that the server offers)")
	f.StringVar(&o.Method, "method", http.MethodGet, "GET, HEAD or OPTIONS")
	f.StringArrayVar(&pf.headers, "header", nil, "'Name: value' to add to each request; may be repeated; values are never shown")
	f.IntVar(&o.Conns, "conns", probe.DefaultConns, "idle connections of each protocol, 32 at most")
	f.DurationVar(&o.Max, "max", probe.DefaultMax, "longest time to watch a connection")
	f.IntVar(&o.Requests, "requests", probe.DefaultRequests, "most requests to send on one connection; 0: don't count them")
	f.DurationVar(&o.Timeout, "timeout", probe.DefaultTimeout, "most time for connecting, for TLS, and for each answer")
	f.BoolVar(&o.Verify, "verify", false, "send a second request at growing ages, to find silent drops")
	f.StringVar(&pf.caFile, "ca", "", "PEM file with the authorities to trust, in place of the system's")
	f.BoolVar(&o.Insecure, "insecure", false, "take any certificate: what answers may be anybody")
	f.BoolVar(&pf.asJSON, "json", false, "print JSON instead of tables")
	f.BoolVar(&pf.dryRun, "dry-run", false, "say what would be sent, and end")
	f.BoolVar(&pf.noProgress, "no-progress", false, "show no progress bar (without a terminal there is none)")
	return cmd
}

// oneURL refuses anything but one argument, in words of its own.
func oneURL(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return &cli.UsageError{Text: "probe: give the URL to measure, like https://host:port/path"}
	case 1:
		return nil
	}
	return cli.Usagef("probe takes one URL, got %d arguments", len(args))
}

// runProbe measures and prints what is known, even when it was interrupted.
func runProbe(cmd *cobra.Command, o probe.Options, pf probeFlags) error {
	if err := probeOptions(cmd, &o, pf); err != nil {
		return err
	}
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	var bar *probeBar
	if !pf.noProgress {
		bar = newProbeBar(stderr)
		o.Progress = bar.update
	}
	p, err := probe.New(o)
	if err != nil {
		return err
	}
	if pf.dryRun {
		return printed(io.WriteString(stdout, p.Plan().String()))
	}
	_, _ = fmt.Fprintln(stderr, p.Plan())
	bar.start(p.Plan().Longest)
	rep, err := p.Run(cmd.Context())
	bar.stop()
	if len(rep.Protocols) > 0 {
		if err := writeProbe(stdout, rep, pf.asJSON); err != nil {
			return err
		}
	}
	return probeError(rep, err)
}

// probeOptions puts the flags into o.
func probeOptions(cmd *cobra.Command, o *probe.Options, pf probeFlags) (err error) {
	if err := cli.Positive(cmd, "conns", "max", "timeout"); err != nil {
		return err
	}
	switch {
	case o.Requests < 0:
		return cli.Usagef("probe: --requests %d: must not be negative; 0 doesn't count them", o.Requests)
	case o.Requests == 0:
		o.Requests = -1
	}
	o.Header = make(http.Header)
	for _, field := range pf.headers {
		name, value, err := probe.ParseHeader(field)
		if err != nil {
			return err
		}
		o.Header.Add(name, value)
	}
	if pf.caFile != "" {
		o.RootCAs, err = authorities(pf.caFile)
	}
	return err
}

// authorities reads a PEM file of certificates.
func authorities(name string) (*x509.CertPool, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cli.Usagef("probe: --ca: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCA))
	if err != nil {
		return nil, cli.Usagef("probe: --ca: %v", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, cli.Usagef("probe: --ca %s: there is no PEM certificate in it", name)
	}
	return pool, nil
}

func writeProbe(w io.Writer, rep *probe.Report, asJSON bool) error {
	if !asJSON {
		return writeProbeTable(w, rep)
	}
	text, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return printed(w.Write(append(text, '\n')))
}

// printed is the error of a write that prints a result.
func printed(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

// probeError says of what the error of Run is.
func probeError(rep *probe.Report, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && rep.Cut:
		return fmt.Errorf("probe: interrupted after %v", rep.Took.Duration().Round(100*time.Millisecond))
	}
	return fmt.Errorf("probe: %s: %w", rep.URL, err)
}
