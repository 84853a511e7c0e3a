package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributarydb/tributary/internal/process"
	"github.com/tributarydb/tributary/tools/nemesis/patch"
)

// patience is how long a node may take to start, to leave, to become ready.
const patience = 60 * time.Second

// cluster is a set of nodes, each in its own process.
type cluster struct {
	o       Options
	dir     string
	nodes   []*node
	mesh    *mesh
	report  func(format string, args ...any) // reports a violation
	log     *os.File                         // of the errors that clients received
	backups *backups                         // nil without their faults
	schemas *schemas                         // what backups are compared with
	upgrade upgrade
	// spoilt counts temporary files that were damaged.
	spoilt atomic.Int64
	// flipped: this round damages segments, so that a statement which has sent rows, or writes, may fail.
	flipped atomic.Bool
}

// node is a member, whether it runs or not.
type node struct {
	name, dir string
	log       *os.File
	disk      *disk          // of its own; nil: it shares the machine's
	control   *patch.Control // of its clock, and of what a sync takes

	mu      sync.Mutex
	older   bool          // its next start is of the version before
	proc    *process.Node // nil: it does not run
	pg      string        // address for clients; "": it is not ready
	http    string
	ended   map[*process.Node]bool // by faults
	killed  *process.Node          // the last process that a fault killed
	stopped bool
	hidden  bool // clients must not use it
}

func (n *node) hide(hidden bool) {
	n.mu.Lock()
	n.hidden = hidden
	n.mu.Unlock()
}

func (n *node) data() string { return filepath.Join(n.dir, "data") }

// startCluster starts a new cluster in a directory, for rounds from one on.
func startCluster(ctx context.Context, o Options, from int, dir string, report func(string, ...any)) (_ *cluster, err error) {
	c := &cluster{o: o, dir: dir, report: report}
	defer func() {
		if err != nil {
			c.close()
			err = errors.Join(err, c.remove(true))
		}
	}()
	if c.log, err = os.Create(filepath.Join(dir, "clients.log")); err != nil {
		return nil, err
	}
	for i := range o.Nodes {
		name := fmt.Sprintf("n%d", i+1)
		n := &node{name: name, dir: filepath.Join(dir, name), older: o.Before != "", ended: map[*process.Node]bool{}}
		if err = os.MkdirAll(n.dir, 0o700); err != nil {
			return nil, err
		}
		if n.log, err = os.Create(filepath.Join(dir, name+".log")); err != nil {
			return nil, err
		}
		if n.control, err = patch.NewControl(filepath.Join(dir, name+".control")); err != nil {
			return nil, err
		}
		if o.has("disk") {
			if n.disk, err = mountDisk(n.dir); err != nil {
				return nil, err
			}
		}
		c.nodes = append(c.nodes, n)
	}
	if o.has("backup") || o.has("restore") || o.has("store") {
		c.backups = newBackups(c, o.Seed+uint64(from))
	}
	if c.mesh, err = newMesh(o.Nodes, c.pid); err != nil {
		return nil, err
	}
	for i := range c.nodes {
		var join []string
		if i == 0 && o.Storage { // the others know it from this one, and it knows it itself from then on
			join = []string{"--storage", c.backups.archive}
		}
		if i > 0 {
			join = []string{"--join", c.mesh.addr(0), "--join-secret", filepath.Join(c.nodes[0].data(), "cluster-secret")}
		}
		if err = c.start(ctx, i, join...); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// note writes a line to the log of the clients.
func (c *cluster) note(format string, args ...any) {
	fmt.Fprintf(c.log, "%s %s\n", time.Now().UTC().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// pid is the number of a node's process, 0 if it does not run.
func (c *cluster) pid(i int) int {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil {
		return 0
	}
	return n.proc.Pid()
}

// start starts a node that does not run, and watches it.
func (c *cluster) start(ctx context.Context, i int, more ...string) error {
	n := c.nodes[i]
	n.mu.Lock()
	runs := n.proc != nil
	n.mu.Unlock()
	if runs {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	addr, err := freePort(i)
	if err != nil {
		return err
	}
	c.mesh.serve(i, addr)
	args := []string{"/usr/bin/env", n.control.Env()}
	if c.backups != nil {
		args = append(args, c.backups.env()...)
	}
	args = append(args, c.program(i), "serve", "--data", n.data(), "--node", n.name, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0",
		"--listen-cluster", addr, "--advertise", c.mesh.addr(i), "--memory", "384MiB", "--threads", "2",
		"--testing", "sweep=500ms,tick=200ms,grace=2s,audit=300ms,segment-rows=3000,snapshot=100", "--scrub-every", "1s", "--scrub-rate", "1GiB")
	if c.o.Storage { // too little for all files
		args = append(args, "--storage-cache", "2MiB")
	}
	fmt.Fprintf(n.log, "--- start %v\n", more)
	p, err := c.launch(ctx, n, slices.Concat(args, c.o.Serve, more))
	if err != nil && p != nil && n.wasEnded(p) {
		return fmt.Errorf("%s: %w: %w", n.name, errEnded, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	go func() {
		err := p.Err()
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.proc == p {
			n.proc = nil
			if !n.ended[p] {
				c.report("%s ended by itself: %v\n%s", n.name, err, lastLines(p.Log(), 12))
			}
		}
	}()
	return nil
}

// program returns the binary of a node's next start.
func (c *cluster) program(i int) string {
	if c.older(i) {
		return c.o.Before
	}
	return c.o.Program
}

// older reports whether a node has the version before, or will have it when it starts.
func (c *cluster) older(i int) bool {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.older
}

// freePort returns a port for a node that will listen later, since others dial it at
// once. Where the whole of 127/8 is loopback, the port is on an address that nothing
// else uses, another nemesis included, so that no connection takes it meanwhile.
func freePort(node int) (string, error) {
	pid := os.Getpid()
	ln, err := net.Listen("tcp4", fmt.Sprintf("127.%d.%d.%d:0", 8+pid/250%200, pid%250, node+1))
	if err != nil {
		ln, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return "", err
	}
	addr := ln.Addr().String()
	return addr, ln.Close()
}

// launch is process.Start, but registers the process at once: the mesh needs to
// identify callers.
func (c *cluster) launch(ctx context.Context, n *node, command []string) (*process.Node, error) {
	p, err := process.Launch(n.log, command...)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.proc, n.pg, n.stopped = p, "", false
	n.mu.Unlock()
	err = p.Ready(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == p { // nobody has ended it, and started another
		n.pg, n.http = p.PG, p.HTTP
		if err != nil {
			n.proc = nil
		}
	}
	return p, err
}

// take marks the end of a node's process as intended, and returns the process.
func (n *node) take() *process.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil {
		n.ended[n.proc] = true
	}
	return n.proc
}

// errEnded is of a node that another fault has ended while it started.
var errEnded = errors.New("a fault ended it")

func (n *node) wasEnded(p *process.Node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended[p]
}

// kill ends a node as a power cut would.
func (c *cluster) kill(i int) {
	n := c.nodes[i]
	if p := n.take(); p != nil {
		n.mu.Lock()
		n.killed = p
		n.mu.Unlock()
		p.Kill()
		c.forget(i, p)
	}
}

// leave asks a node to shut down; it must do so without an error.
func (c *cluster) leave(ctx context.Context, i int) {
	n := c.nodes[i]
	p := n.take()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n.mu.Lock()
	served := n.pg != "" // a process that another fault has just launched may not take signals yet
	n.mu.Unlock()
	err := p.Stop(ctx)
	n.mu.Lock()
	killed := n.killed == p || !served && ctx.Err() == nil // by another fault, meanwhile
	n.mu.Unlock()
	if err != nil && !killed {
		c.report("%s was asked to leave: %v\n%s", n.name, err, lastLines(p.Log(), 12))
	}
	c.forget(i, p)
}

func (c *cluster) forget(i int, p *process.Node) {
	n := c.nodes[i]
	n.mu.Lock()
	if n.proc == p {
		n.proc = nil
	}
	n.mu.Unlock()
}

// pause stops a node's process, or continues it.
func (c *cluster) pause(i int, stop bool) {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil || n.stopped == stop {
		return
	}
	sig := syscall.SIGCONT
	if stop {
		sig = syscall.SIGSTOP
	}
	if err := n.proc.Signal(sig); err == nil {
		n.stopped = stop
	}
}

// heal lets all nodes run and reach each other.
func (c *cluster) heal(ctx context.Context) error {
	c.mesh.heal()
	for i, n := range c.nodes {
		c.pause(i, false)
		if err := errors.Join(n.control.Shift(0), n.control.Slow(0)); err != nil {
			return err
		}
		if n.disk != nil {
			n.disk.free()
		}
	}
	// Side by side: a majority may be needed for one to be ready.
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i := range c.nodes {
		wg.Go(func() { errs[i] = c.start(ctx, i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// errDown is of a node that does not run.
var errDown = errors.New("the node does not run")

// dial connects to a node as a client.
func (c *cluster) dial(ctx context.Context, i int, application string, mode pgx.QueryExecMode) (*pgx.Conn, error) {
	n := c.nodes[i]
	n.mu.Lock()
	pg := n.pg
	if n.proc == nil || n.hidden {
		pg = ""
	}
	n.mu.Unlock()
	if pg == "" {
		return nil, errDown
	}
	conf, err := pgx.ParseConfig("postgres://tributary@" + pg + "/tributary?sslmode=disable&application_name=" + application)
	if err != nil {
		return nil, err
	}
	conf.DefaultQueryExecMode = mode
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return pgx.ConnectConfig(ctx, conf)
}

// leader asks the nodes which of them leads; -1 if none does.
func (c *cluster) leader(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for i := range c.nodes {
		conn, err := c.dial(ctx, i, "nemesis", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			continue
		}
		var name string
		err = conn.QueryRow(ctx, "SELECT name FROM cluster.nodes WHERE leader").Scan(&name)
		_ = conn.Close(ctx)
		for k, n := range c.nodes {
			if err == nil && n.name == name {
				return k
			}
		}
	}
	return -1
}

// dump writes the goroutine stacks of every node.
func (c *cluster) dump() {
	client := http.Client{Timeout: 10 * time.Second}
	for _, n := range c.nodes {
		n.mu.Lock()
		addr := n.http
		n.mu.Unlock()
		r, err := client.Get("http://" + addr + "/debug/pprof/goroutine?debug=2")
		if err != nil {
			c.note("%s: %v", n.name, err)
			continue
		}
		f, err := os.Create(filepath.Join(c.dir, n.name+".goroutines"))
		if err == nil {
			_, err = io.Copy(f, r.Body)
			err = errors.Join(err, f.Close())
		}
		_ = r.Body.Close()
		if err != nil {
			c.note("%s: %v", n.name, err)
		}
	}
}

// close ends all processes. The directories stay.
func (c *cluster) close() {
	for i, n := range c.nodes {
		c.kill(i)
		_ = n.control.Close()
		_ = n.log.Close()
	}
	if c.mesh != nil {
		c.mesh.close()
	}
	if c.backups != nil {
		c.backups.bucket.End()
	}
	_ = c.log.Close()
}

// remove unmounts what was mounted, and removes the directories unless they are to be
// kept.
func (c *cluster) remove(keep bool) error {
	var errs []error
	for _, n := range c.nodes {
		if n.disk == nil {
			continue
		}
		if keep {
			errs = append(errs, os.CopyFS(n.dir+".kept", os.DirFS(n.dir)))
		}
		errs = append(errs, n.disk.unmount())
	}
	if !keep {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}
