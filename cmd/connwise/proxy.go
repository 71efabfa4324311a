package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/connwise/internal/cli"
	"example.com/connwise/internal/sidecar"
)

func newProxy() *cobra.Command {
	var file string
	var check, show bool
	cmd := &cobra.Command{
		Use:   "proxy --upstream URL",
		Short: "Run a reverse proxy that gives services in any language connwise's connections and retries",
		Long:  proxyLong,
		Example: `  connwise proxy --upstream https://api.example
  connwise proxy --upstream https://api.example --listen unix:/run/connwise/api.sock --admin 127.0.0.1:9090
  connwise proxy --upstream http://10.0.0.5:8080 --pool-proxy-idle-timeout 60s --pool-max-conns 200 --pool-max-wait 2s
  connwise proxy --config /etc/connwise/proxy.yml --check
  connwise proxy --print-config --upstream https://api.example > proxy.yml
  kill -HUP $(pidof connwise)   # read proxy.yml again`,
		Args: cli.NoArgs,
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML `file` with settings; flags go before it. Read again at SIGHUP")
	cmd.Flags().BoolVar(&check, "check", false, "only check the settings")
	cmd.Flags().BoolVar(&show, "print-config", false, "only print all settings, with what they mean, as a file")
	flags := settingFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		source := sidecar.Source{File: file, Flags: flags.given()}
		set, err := sidecar.Load(source)
		if err != nil {
			return err
		}
		switch {
		case show:
			_, err = io.WriteString(cmd.OutOrStdout(), set.YAML())
		case check:
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the settings are right")
		default:
			err = runProxy(cmd.Context(), source, set, cmd.ErrOrStderr())
		}
		if err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
		return nil
	}
	return cmd
}

const proxyLong = `proxy listens on a loopback address or a Unix socket, and sends what comes there to the
upstream over connwise's connection pool and retry layer. A client in any language talks plain
HTTP/1.1 (or HTTP/2 by prior knowledge) to it, and needs no retries of its own: it never sees a
connection to the upstream that the upstream has closed.

Request bodies of up to --replay-body are read first, so that they can be sent again; larger
ones stream. Answers stream. WebSockets and other upgrades, trailers and 1xx answers pass.
What is sent again, and what not, "connwise policy" shows; an Idempotency-Key of the client's
counts as there.

If the upstream can't be reached, the answer is the proxy's own:

  503  no server has processed the request; it may be sent again, whatever its method
       (Retry-After says when)
  504  no answer came in time; it may have been processed
  502  the connection was lost; it may have been processed
  400  the client's request broke off, or can't be sent

  Connwise-Unprocessed   true: it is proven that no server has processed the request.
                         false: it isn't. The field is in these answers and in no others
  Connwise-Phase         how far the last attempt got: request (it wasn't read to its end),
                         wait, dial, unsent, refused, sending, sent, response, unknown
  Connwise-Retries       how often the request was sent again; also in answers of the upstream

An answer that breaks off in its middle ends the client's connection, never cleanly.

Each setting is a flag, or a line of --config with dots for nested mappings: --pool-max-conns is

  pool:
    max_conns: 200

Durations have units (60s, 500ms), sizes too (64KiB), and "none" switches a limit off.

SIGHUP reads --config again: new requests go by it, those under way end by what they began
with. A file with a mistake is refused, logged, and changes nothing. SIGTERM and SIGINT end
the proxy: it accepts nothing more, and requests under way have --drain to end. A second one
ends it at once.

The admin listener has the statistics as a page and as JSON (/, for "connwise stats" too),
/metrics for Prometheus, /healthz (503 while it drains) and /-/config. On TCP it answers only who
asks for an IP address or localhost (421 otherwise), so that no page of the Web can read it by a
name of its own; with --listen-anywhere it answers all.

Exit codes: 0 all requests had ended; 1 it couldn't listen, or requests were cut at the end of
--drain; 2 a flag or a setting makes no sense.`

// A proxyFlags has the settings that the command line may have.
type proxyFlags struct {
	set  *pflag.FlagSet
	keys map[string]string // by flag
}

// settingFlags adds a flag for each setting, and what shells offer for it.
func settingFlags(cmd *cobra.Command) proxyFlags {
	f := proxyFlags{cmd.Flags(), make(map[string]string)}
	for _, t := range sidecar.Defaults().Table() {
		f.keys[t.Flag()] = t.Key
		flag := f.set.VarPF(&textValue{Value: t.Value, text: t.Value.String()}, t.Flag(), "", t.Doc)
		if t.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
		offers := cobra.NoFileCompletions
		if c, ok := t.Value.(interface{ Names() []string }); ok {
			offers = cobra.FixedCompletions(c.Names(), cobra.ShellCompDirectiveNoFileComp)
		}
		if !strings.HasSuffix(t.Key, "_file") {
			_ = cmd.RegisterFlagCompletionFunc(t.Flag(), offers) // the flag is there, and has none yet
		}
	}
	return f
}

// given returns the settings that the command line has, in the order of their names.
func (f proxyFlags) given() (all []sidecar.Flag) {
	f.set.Visit(func(flag *pflag.Flag) {
		if v, ok := flag.Value.(*textValue); ok {
			all = append(all, sidecar.Flag{Key: f.keys[flag.Name], Text: v.text})
		}
	})
	return all
}

// A textValue keeps the text that it was set to, as a setting is read with all others.
type textValue struct {
	sidecar.Value
	text string
}

// Set notes text. sidecar.Load says what is wrong with it: an error here would come with all of the text,
// and with a password that is in a proxy's URL.
func (v *textValue) Set(text string) error {
	v.text = text
	return nil
}

// runProxy serves until ctx ends, and reloads at SIGHUP.
func runProxy(ctx context.Context, source sidecar.Source, set *sidecar.Settings, stderr io.Writer) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	reload, stop := asEvents(hup)
	defer stop()
	sc := sidecar.Sidecar{Source: source, Log: newLogger(stderr, set), Reload: reload, Metrics: newProxyMetrics}
	return sc.Run(ctx, set)
}

// asEvents passes signals on until stop.
func asEvents(signals <-chan os.Signal) (events <-chan struct{}, stop func()) {
	out, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-signals:
			case <-end:
				return
			}
			select {
			case out <- struct{}{}:
			case <-end:
				return
			}
		}
	}()
	return out, func() { close(end); <-ended }
}

func newLogger(w io.Writer, set *sidecar.Settings) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(strings.ToUpper(set.LogLevel))) // one of four, by the table
	o := &slog.HandlerOptions{Level: level}
	if set.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

func isSettings(err error) bool {
	_, ok := errors.AsType[sidecar.SettingErrors](err)
	return ok
}
