package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/internal/process"
)

// patience is how long a node may take to start, to leave, or to answer.
const patience = time.Minute

// node is a member: a directory, addresses that stay, and a process.
type node struct {
	name, data, pg, cluster string

	mu   sync.Mutex
	proc *process.Node
}

func newNodes(dir string, n int) (out []*node, err error) {
	var held []net.Listener
	free := func() string {
		ln, lerr := net.Listen("tcp", "127.0.0.1:0")
		if lerr != nil {
			err = lerr
			return ""
		}
		held = append(held, ln)
		return ln.Addr().String()
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i+1)
		out = append(out, &node{name: name, data: filepath.Join(dir, name), pg: free(), cluster: free()})
	}
	for _, ln := range held {
		ln.Close()
	}
	return out, err
}

func (n *node) start(ctx context.Context, program string, join ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	log, err := os.OpenFile(n.data+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := append([]string{program, "serve", "--data", n.data, "--node", n.name, "--listen-pg", n.pg, "--listen-http", "127.0.0.1:0", "--listen-cluster", n.cluster,
		"--memory", "512MiB", "--threads", "2", "--testing", "sweep=1s,tick=500ms,grace=5s,audit=1s,segment-rows=2000,snapshot=200"}, join...)
	p, err := process.Launch(log, args...)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.proc = p
	n.mu.Unlock()
	go func() {
		<-p.Done()
		log.Close()
	}()
	if err := p.Ready(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

// leave stops the node as a supervisor does, or kills it.
func (n *node) leave(ctx context.Context, kill bool) error {
	n.mu.Lock()
	p := n.proc
	n.proc = nil
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	if kill {
		p.Kill()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

func (n *node) dial(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := pgx.ParseConfig("postgres://tributary@" + n.pg + "/tributary")
	if err != nil {
		return nil, err
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	return pgx.ConnectConfig(ctx, c)
}

// query returns a statement's rows as text.
func query(ctx context.Context, c *pgx.Conn, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := c.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var line []string
		for _, v := range rows.RawValues() {
			line = append(line, string(v))
		}
		out = append(out, strings.Join(line, "|"))
	}
	return strings.Join(out, "\n"), rows.Err()
}

// each runs f for all nodes at once.
func each(nodes []*node, f func(n *node) error) error {
	errs := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() { errs <- f(n) }()
	}
	var first error
	for range nodes {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}
