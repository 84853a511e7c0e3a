package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/tributarydb/tributary/exec/object/s3test"
	"github.com/tributarydb/tributary/internal/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// node is a server that the benchmark started.
type node struct {
	dsn  string
	pid  int
	stop func() error
}

// startNode starts a node of the program, which `tributary bench` names; otherwise it is built from the sources.
func startNode(ctx context.Context, o NodeOptions) (_ *node, err error) {
	dir, err := os.MkdirTemp("", "tributary-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	program := cmp.Or(o.Program, os.Getenv("TRIBUTARY_PROGRAM"))
	if program == "" {
		if program, err = process.Build(dir); err != nil {
			return nil, err
		}
	}
	args := []string{program, "serve", "--node", "local", "--data", cmp.Or(o.Data, dir+"/data"), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0"}
	if o.Memory != "" {
		args = append(args, "--memory", o.Memory)
	}
	if o.Threads > 0 {
		args = append(args, "--threads", strconv.Itoa(o.Threads))
	}
	if o.Bucket {
		s := s3test.Start("bench")
		was := remove
		remove = func() error {
			s.End()
			return was()
		}
		args = append([]string{"/usr/bin/env", "AWS_ACCESS_KEY_ID=" + s3test.KeyID, "AWS_SECRET_ACCESS_KEY=" + s3test.Secret, "AWS_ENDPOINT_URL=" + s.URL, "AWS_REGION=us-east-1"}, append(args, "--storage", "s3://bench/db")...)
	}
	p, err := process.Start(ctx, args...)
	if err != nil {
		return nil, err
	}
	return &node{dsn: "postgres://tributary@" + p.PG + "/tributary?sslmode=disable", pid: p.Pid(), stop: func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return errors.Join(p.Stop(ctx), remove())
	}}, nil
}
