// Command peers is connwise's bench with other people's HTTP clients in its table. It takes
// the flags of "connwise bench":
//
//	go run -C bench/peers . --scenario idle-race --proto h1
//
// It's a module of its own, so that who uses connwise gets none of theirs. Each client is
// set up as its own documentation recommends; its note, which --help and every report have,
// says how.
package main

import (
	"context"
	"io"
	"os"

	"example.com/connwise/internal/benchcli"
	"example.com/connwise/internal/cli"
)

func main() { os.Exit(benchcli.Main(run)) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := benchcli.New(clients()...)
	root.Use = "peers"
	return cli.Run(ctx, root, args, stdout, stderr, benchcli.IsUsage)
}
