package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := commandLine(ctx); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "nemesis:", err)
		}
		os.Exit(1)
	}
}

func commandLine(ctx context.Context) error {
	o := Options{}
	flag.IntVar(&o.Rounds, "rounds", 100, "rounds")
	flag.DurationVar(&o.For, "for", 0, "begin no round after this time (default: no limit)")
	flag.IntVar(&o.From, "from", 0, "the first round")
	flag.Uint64Var(&o.Seed, "seed", 1, "what all choices come from")
	flag.IntVar(&o.Nodes, "nodes", 3, "nodes of a cluster")
	flag.IntVar(&o.Fresh, "fresh", 25, "rounds that share a cluster")
	flag.IntVar(&o.Stretch, "stretch", 5, "rounds that share a check, at most")
	flag.BoolVar(&o.Verbose, "verbose", false, "a line a round")
	flag.BoolVar(&o.KeepGoing, "keep-going", false, "after a failure go on with a new cluster")
	flag.StringVar(&o.Dir, "dir", "", "directory for data and logs (default: a temporary one)")
	flag.StringVar(&o.Program, "program", "", "the binary to run, of --build (default: built from this module)")
	flag.StringVar(&o.Before, "before", "", "a binary of the version before, with which clusters begin (default: one version)")
	mixed := flag.Bool("mixed", false, "build the release before (tools/release), for --before")
	flag.BoolVar(&o.Storage, "storage", false, "clusters keep their files in a bucket, and little of them on disks")
	build := flag.String("build", "", "build the binary in this directory, and do nothing else")
	faults := flag.String("faults", "", "kinds among "+strings.Join(Faults, ",")+" (default: all; those that need root only where it is)")
	always := flag.String("always", "", "kinds that each round has, beside others")
	flag.Func("without", "what nodes do not do of their deviations from raft: all, or names of raftnode.Deviation joined by +", func(list string) error {
		o.Serve = append(o.Serve, "--testing", "without="+list)
		return nil
	})
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *build != "" {
		_, err := Build(*build)
		return err
	}
	for _, f := range strings.Split(*faults, ",") {
		if f != "" {
			o.Faults = append(o.Faults, f)
		}
	}
	for _, f := range strings.Split(*always, ",") {
		if f != "" {
			o.Always = append(o.Always, f)
		}
	}
	if o.Faults == nil {
		o.Faults = Possible()
		if *mixed || o.Before != "" {
			o.Faults = append(o.Faults, "version")
		}
	}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "nemesis-")
		if err != nil {
			return err
		}
		o.Dir = dir
	}
	var err error
	bin := filepath.Join(o.Dir, "bin")
	if o.Program == "" {
		if o.Program, err = Build(bin); err != nil {
			return err
		}
	}
	if *mixed && o.Before == "" {
		if o.Before, err = BuildBefore(ctx, filepath.Join(bin, "before")); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "seed %d, %d nodes, faults %s, in %s\n", o.Seed, o.Nodes, strings.Join(o.Faults, ","), o.Dir)
	if err = Run(ctx, o, os.Stdout); err == nil {
		err = os.RemoveAll(o.Dir)
	}
	return err
}
