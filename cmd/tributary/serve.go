package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tributarydb/tributary/cluster/node"
	"github.com/tributarydb/tributary/wire/auth"
	"github.com/tributarydb/tributary/wire/pg"
)

func serve(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	var o node.Options
	listenPG := fs.String("listen-pg", "127.0.0.1:5432", "address for Postgres clients")
	fs.StringVar(&o.Data, "data", "./tributary-data", "directory of the node's data")
	fs.StringVar(&o.Temp, "temp", "", "directory for temporary files (default: within --data)")
	fs.StringVar(&o.Name, "node", "", "name of the node (default: made from its id)")
	memory := fs.String("memory", "", "memory the process may use, such as 4GiB (default: 70 % of the machine's or the cgroup's)")
	fs.IntVar(&o.Threads, "threads", runtime.GOMAXPROCS(0), "threads for queries and training")
	insecure := fs.Bool("insecure", false, "listen beyond loopback without TLS and passwords")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var err error
	if o.Memory, err = memoryLimit(*memory); err != nil {
		return err
	}
	if err := guardListen(*listenPG, *insecure); err != nil {
		return err
	}
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	o.Password = auth.Verifier
	n, err := node.Start(ctx, o)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", *listenPG)
	if err != nil {
		_ = n.Close()
		return err
	}
	srv := pg.NewServer(pg.Options{Engine: engine{n.Engine()}, Insecure: *insecure, Log: o.Log})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	fmt.Printf("ready pg=%s node=%s\n", ln.Addr(), n.Name())
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	srv.Close(drain)
	if cerr := n.Close(); err == nil {
		err = cerr
	}
	return err
}

// guardListen refuses an address beyond loopback unless that is asked for.
func guardListen(addr string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listening on %s needs TLS and passwords; give --insecure to do without", addr)
}

// memoryLimit reads sizes such as 512MiB; empty is 70 % of what there is.
func memoryLimit(s string) (int64, error) {
	if s == "" {
		return availableMemory() * 7 / 10, nil
	}
	units := []struct {
		name string
		n    int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}
	for _, u := range units {
		if v, ok := strings.CutSuffix(s, u.name); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil || f <= 0 {
				break
			}
			return int64(f * float64(u.n)), nil
		}
	}
	return 0, fmt.Errorf("memory size %q is not understood; try 4GiB", s)
}

// availableMemory is the cgroup's limit or the machine's memory, in bytes.
func availableMemory() int64 {
	total := int64(4 << 30)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int64
		if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kb); err == nil {
			total = kb << 10
		}
	}
	for _, p := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(p); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && n < total {
				total = n
			}
		}
	}
	return total
}
