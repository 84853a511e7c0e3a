package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Options of a node. Data is required; the zero value of the rest is usable.
type Options struct {
	Data    string
	Temp    string
	Name    string
	Memory  int64 // bytes the process may use; 0: no limit
	Threads int
	// Password makes the verifier of a password.
	Password func(plain string) (string, error)
	Log      *slog.Logger
}

// Node is a running node.
type Node struct {
	o      Options
	pool   *mem.Pool
	store  *store.Store
	meta   metaStore
	engine *coord.Engine
}

// metaStore is the node's catalog.
type metaStore interface {
	coord.Meta
	Close() error
}

// programShare is what the process needs beside what accounts count: the
// binary, the runtime, the catalog, buffers of connections.
const programShare = 96 << 20

// Start opens the data directory and starts what runs on the node.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Threads <= 0 {
		o.Threads = 1
	}
	if o.Name == "" {
		o.Name = "node-1"
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, err
	}
	if o.Temp == "" {
		o.Temp = filepath.Join(o.Data, "temp")
	}
	if err := os.MkdirAll(o.Temp, 0o700); err != nil {
		return nil, err
	}
	if err := spill.Sweep(o.Temp); err != nil {
		return nil, err
	}
	n := &Node{o: o}
	limit := o.Memory
	if limit > 0 {
		// The collector works harder as the limit nears; accounts stop well
		// below it, so that there is something left to collect.
		debug.SetMemoryLimit(limit * 9 / 10)
		limit = max(limit/4, (limit-programShare)*6/10)
	}
	n.pool = mem.NewPool(o.Name, limit)
	st, err := store.Open(store.Options{Dir: filepath.Join(o.Data, "segments"), Node: 1})
	if err != nil {
		return nil, err
	}
	n.store = st
	if n.meta, err = openMeta(o); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	v := newVirtuals(n)
	n.engine = coord.New(coord.Config{
		Meta: n.meta, Pool: n.pool, Files: &files{store: st}, Virtual: v, Sources: v.sources, Password: o.Password, Log: o.Log,
		Models: newModels(), Temp: o.Temp,
		Runner: &Local{Store: st, Sources: v.sources, Parts: v.sources.Parts, Threads: o.Threads, Temp: o.Temp},
		Node:   catalog.Node{ID: 1, Name: o.Name, Threads: o.Threads, Memory: o.Memory},
	})
	return n, nil
}

// Engine is the gateway's engine.
func (n *Node) Engine() *coord.Engine { return n.engine }

// Name is the node's name.
func (n *Node) Name() string { return n.o.Name }

// Close stops everything, newest first.
func (n *Node) Close() error {
	n.engine.Close()
	return errors.Join(n.meta.Close(), n.store.Close())
}
