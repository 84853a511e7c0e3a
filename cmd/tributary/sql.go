package main

import (
	"context"
	"errors"
	"os"

	"github.com/tributarydb/tributary/cmd/bench"
	"github.com/tributarydb/tributary/cmd/shell"
)

// shellCommand runs a SQL shell; its exit codes are psql's.
func shellCommand(_ context.Context, args []string) error { return runShell(shell.Main, args) }

// queryCommand runs statements, on an engine in this process unless a server is named.
func queryCommand(_ context.Context, args []string) error { return runShell(shell.Query, args) }

func runShell(run func(context.Context, []string, shell.IO, shell.StartEngine) error, args []string) error {
	// The main context ends at Ctrl-C, which the shell handles itself.
	std, release := shell.Terminal()
	defer release()
	err := run(context.Background(), args, std, localEngine)
	var exit shell.Exit
	if errors.As(err, &exit) {
		os.Exit(exit.Code)
	}
	return err
}

// localEngine starts a node for the shell alone: no other process can connect to it.
func localEngine(ctx context.Context, o shell.EngineOptions) (shell.Dial, func() error, error) {
	s, stop, err := ownNode(ctx, bench.NodeOptions{Data: o.Data, Memory: o.Memory}, "")
	if err != nil {
		return nil, nil, err
	}
	return s.dial, stop, nil
}
