package node

import (
	"context"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// runner is the node's gateway as the engine uses it: query.Runner.
type runner struct{ *worker.Gateway }

// Statement implements query.Runner.
func (r runner) Statement(id string, st *catalog.State, pool *mem.Pool, env *function.Env, o query.RunOptions) query.Statement {
	return r.Gateway.Statement(id, st, pool, env, worker.Options{BatchSize: o.BatchSize, Saturation: o.Saturation, Virtual: o.Virtual, Admission: o.Admission.(*worker.Admission)})
}

// Admission implements query.Runner.
func (r runner) Admission(role types.OID, pool *mem.Pool) query.Admission {
	return r.Gateway.Admission(role, pool)
}

// takers are the nodes that take work: those that are alive and do not drain.
func (n *Node) takers() []worker.Member {
	var out []worker.Member
	for _, m := range n.raft.Current().Nodes() {
		if alive, _ := n.raft.Liveness(m.ID); alive && !m.Draining {
			out = append(out, worker.Member{ID: m.ID, Name: m.Name, Threads: m.Threads})
		}
	}
	return out
}

// stateAt returns the catalog at a version or later.
func (n *Node) stateAt(ctx context.Context, version uint64) (*catalog.State, error) {
	if n.raft.Current().Version() < version {
		// Whoever asks hears of it sooner than who waits to be told; without a leader that
		// is all there is to do.
		_ = n.raft.ReadIndex(ctx)
	}
	if err := n.raft.WaitFor(ctx, version); err != nil {
		return nil, err
	}
	return n.raft.Current(), nil
}
