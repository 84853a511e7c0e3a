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

// benchNode starts a node that clients reach by TCP.
func benchNode(ctx context.Context, b bench.NodeOptions) (dsn string, stop func() error, err error) {
	s, stop, err := ownNode(ctx, b, "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("postgres://tributary@127.0.0.1:%d/tributary?sslmode=disable", port(s.pg)), stop, nil
}

// ownNode starts a node of this process, in a directory that is removed afterwards unless it was given. listen is
// where its clients and its page are; "": in this process alone.
func ownNode(ctx context.Context, b bench.NodeOptions, listen string) (s *server, stop func() error, err error) {
	o := node.Options{Data: b.Data, Name: "local", ListenCluster: "127.0.0.1:0", Threads: b.Threads, Log: slog.New(slog.DiscardHandler)}
	if o.Memory, err = nodeMemory(b.Memory); err != nil {
		return nil, nil, err
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
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
