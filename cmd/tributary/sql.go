package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/tributarydb/tributary/cluster/node"
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
	s, stop, err := ownNode(ctx, o, "")
	if err != nil {
		return nil, nil, err
	}
	return s.dial, stop, nil
}

// ownNode starts a node of this process, in a directory that is removed afterwards unless it was given. listen is
// where its clients and its page are; "": in this process alone.
func ownNode(ctx context.Context, given shell.EngineOptions, listen string) (s *server, stop func() error, err error) {
	o := node.Options{Data: given.Data, Name: "local", ListenCluster: "127.0.0.1:0", Threads: cores, ObjectCache: 1 << 30, Log: slog.New(slog.DiscardHandler)}
	if o.Memory, err = nodeMemory(given.Memory); err != nil {
		return nil, nil, err
	}
	remove := func() error { return nil }
	if o.Data == "" {
		if o.Data, err = os.MkdirTemp("", "tributary-"); err != nil {
			return nil, nil, err
		}
		remove = func() error { return os.RemoveAll(o.Data) }
	}
	if s, err = startServer(ctx, o, listen, listen, false, new(access)); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return s, func() error { return errors.Join(s.close(5*time.Second), remove()) }, nil
}
