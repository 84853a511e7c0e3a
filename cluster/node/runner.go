package node

import (
	"context"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
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

// schedulable returns the nodes that accept work: those that are alive and not draining. During an upgrade
// they are those of this program's version: plans, and what trainings send each other, may be of any form
// then that both ends know.
func (n *Node) schedulable() []worker.Member {
	var out []worker.Member
	st := n.raft.Current()
	for _, m := range st.Nodes() {
		if alive, _ := n.raft.Liveness(m.ID); alive && !m.Draining && (st.Finalized() >= version.Binary || n.reportOf(m.ID).Binary == version.Binary) {
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
