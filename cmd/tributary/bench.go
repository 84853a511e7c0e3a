package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/cmd/bench"
)

// benchmark measures a server, or a node that it starts.
func benchmark(ctx context.Context, args []string) error {
	return bench.Main(ctx, args, os.Stdout, benchNode)
}

// benchNode starts a node in a directory that is removed afterwards, unless it was
// given.
func benchNode(ctx context.Context, b bench.NodeOptions) (dsn string, stop func() error, err error) {
	o := node.Options{Data: b.Data, Name: "bench", ListenCluster: "127.0.0.1:0", Threads: b.Threads, Log: slog.New(slog.DiscardHandler)}
	if o.Memory, err = nodeMemory(b.Memory); err != nil {
		return "", nil, err
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	remove := func() error { return nil }
	if o.Data == "" {
		if o.Data, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return "", nil, err
		}
		remove = func() error { return os.RemoveAll(o.Data) }
	}
	s, err := startServer(ctx, o, "127.0.0.1:0", "127.0.0.1:0", false, new(access))
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return fmt.Sprintf("postgres://tributary@127.0.0.1:%d/tributary?sslmode=disable", port(s.pg)),
		func() error { return errors.Join(s.close(5*time.Second), remove()) }, nil
}
