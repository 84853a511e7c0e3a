package node

import (
	"context"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// locks implements advisory.Cluster over raftnode.
type locks struct{ n *Node }

func (l locks) ID() uint64                        { return l.n.dir.ID }
func (l locks) Alone() bool                       { return len(l.n.raft.Current().Nodes()) <= 1 }
func (l locks) Locks(f func(*advisory.Table))     { l.n.raft.Locks(f) }
func (l locks) Changed() <-chan struct{}          { return l.n.raft.Changed() }
func (l locks) Barrier(ctx context.Context) error { return l.n.raft.ReadIndex(ctx) }
func (l locks) Renew(ctx context.Context) error   { return l.n.raft.Renew(ctx) }

func (l locks) Lock(ctx context.Context, changes []catalog.Change, ops []advisory.Op) (advisory.Result, error) {
	return l.n.raft.Lock(ctx, changes, ops)
}

// Locks are those of the sessions of all nodes.
func (h *viewHost) Locks() (out []sysview.LockRow) {
	for _, r := range h.n.locks.Rows(h.ctx) {
		row := sysview.LockRow{Type: "advisory", Class: types.OID(uint64(r.Key.A) >> 32), Object: types.OID(uint32(r.Key.A)), SubID: 1,
			PID: int32(r.Owner.PID()), Mode: "ExclusiveLock", Granted: r.Granted}
		if r.Key.Two {
			row.Class, row.Object, row.SubID = types.OID(uint32(r.Key.A)), types.OID(uint32(r.Key.B)), 2
		}
		if r.Key.Table != 0 {
			row = sysview.LockRow{Type: "tuple", Relation: r.Key.Table, PID: row.PID, Mode: row.Mode, Granted: r.Granted}
		}
		if r.Shared {
			row.Mode = "ShareLock"
		}
		out = append(out, row)
	}
	return out
}
