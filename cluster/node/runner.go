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

// runner implements query.Runner over the node's gateway.
type runner struct{ *worker.Gateway }

// Statement implements query.Runner.
func (r runner) Statement(id string, st *catalog.State, pool *mem.Pool, env *function.Env, o query.RunOptions) query.Statement {
	return r.Gateway.Statement(id, st, pool, env, worker.Options{BatchSize: o.BatchSize, Saturation: o.Saturation, Virtual: o.Virtual, Admission: o.Admission.(*worker.Admission)})
}

// Admission implements query.Runner.
func (r runner) Admission(role types.OID, pool *mem.Pool) query.Admission {
	return r.Gateway.Admission(role, pool)
}

// schedulable returns the nodes that accept work: those that are alive and not draining.
func (n *Node) schedulable() []worker.Member {
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
		// Asking the leader is faster than waiting for its next message. Without a leader
		// there is nothing to do but wait.
		_ = n.raft.ReadIndex(ctx)
	}
	if err := n.raft.WaitFor(ctx, version); err != nil {
		return nil, err
	}
	return n.raft.Current(), nil
}
