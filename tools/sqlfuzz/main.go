package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := commandLine(ctx); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "sqlfuzz:", err)
		}
		os.Exit(1)
	}
}

func commandLine(ctx context.Context) error {
	o := Options{}
	flag.StringVar(&o.DSN, "dsn", "", "the server's address, postgres://…; its schemas sqlfuzz0 and on are dropped and made anew")
	flag.StringVar(&o.Peer, "peer", "", "the address of a PostgreSQL 15 to compare with, sorting by bytes (default: the server is compared with itself)")
	flag.IntVar(&o.Statements, "statements", 10000, "statements to send")
	flag.DurationVar(&o.For, "for", 0, "begin no round after this time (default: no limit)")
	flag.Uint64Var(&o.Seed, "seed", 1, "what all choices come from")
	flag.StringVar(&o.Profile, "profile", "general", "what statements are made of: general, or edges, the kinds of statements that once went wrong")
	flag.IntVar(&o.From, "from", 0, "the first round")
	flag.IntVar(&o.Connections, "connections", 4, "rounds at once, each on a connection of its own")
	flag.StringVar(&o.Cases, "cases", "", "directory for failing statements and how far the run got")
	flag.BoolVar(&o.Resume, "resume", false, "go on where the run of this seed with these cases ended")
	flag.IntVar(&o.MaxFailures, "max-failures", 20, "end after so many failures")
	allow := flag.String("allow", "0A000,40001", "errors of the server that are counted, not failures")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.DSN == "" {
		return errors.New("--dsn is missing")
	}
	if *allow != "" {
		o.Allow = strings.Split(*allow, ",")
	}
	return Run(ctx, o, os.Stdout)
}
