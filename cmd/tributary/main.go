// Command tributary is the database: a node, a shell, the demo and the
// benchmarks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the release build.
var version = "0.1.0-dev"

type command struct {
	name, short string
	run         func(ctx context.Context, args []string) error
}

var commands []command

func init() {
	commands = []command{
		{"serve", "run a node", serve},
		{"sql", "a shell for machines without psql", shellCommand},
		{"bench", "measure TPC-H, group-by and training", benchmark},
		{"demo", "load real data into a cluster, query it, train on it", demo},
		{"node", "list, drain, replace and remove nodes", nodeCommand},
		{"recover", "go on after the loss of a majority, from a stopped node's directory", recoverNode},
		{"cert", "make certificates for nodes and clients", cert},
		{"version", "print the version", func(context.Context, []string) error {
			fmt.Println("tributary", version)
			return nil
		}},
		{"help", "list the commands", func(context.Context, []string) error {
			usage()
			return nil
		}},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		usage()
		os.Exit(2)
	}
	name := os.Args[1]
	for _, c := range commands {
		if c.name != name {
			continue
		}
		err := c.run(ctx, os.Args[2:])
		switch {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return
		default:
			fmt.Fprintln(os.Stderr, "tributary "+name+":", err)
			os.Exit(1)
		}
	}
	fmt.Fprintf(os.Stderr, "tributary: there is no command %q\n\n", name)
	usage()
	os.Exit(2)
}

func usage() {
	fmt.Fprintln(os.Stderr, "Tributary is a Postgres-wire SQL database that trains models where the data is.\n\nUsage: tributary COMMAND [flags]\n\nCommands:")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-8s %s\n", c.name, c.short)
	}
	fmt.Fprintln(os.Stderr, "\n`tributary COMMAND -h` lists a command's flags.")
}
