package node

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/cluster/admin"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/trainer"
	"github.com/tributarydb/tributary/cluster/training"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

// trainings implements training.Trainer over the node's trainer.
type trainings struct{ n *Node }

// Open implements training.Trainer.
func (t trainings) Open(ctx context.Context, name string, job *train.Job, rescan bool, role types.OID) (training.Training, error) {
	g, err := t.n.trainer.Open(ctx, name, job, t.nodes(), rescan, role)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Over implements training.Trainer.
func (t trainings) OpenCached(ctx context.Context, name string, job *train.Job, src *train.Source, role types.OID) (training.Training, *train.Encoded, error) {
	g, s, err := t.n.trainer.OpenCached(ctx, name, job, t.nodes(), src, role)
	if g == nil {
		return nil, nil, err
	}
	return g, s, nil
}

// Prune implements training.Trainer.
func (t trainings) Prune(same func(train.Table) bool) { t.n.trainer.Prune(same) }

func (t trainings) nodes() (ids []uint64) {
	for _, m := range t.n.schedulable() {
		ids = append(ids, m.ID)
	}
	return ids
}

func (n *Node) newTrainer() *trainer.Trainer {
	return trainer.New(trainer.Config{Self: n.dir.ID, Peers: n.raft.Peers(), Server: n.server, Pool: n.pool, Resources: n.resources, Temp: n.o.Temp, Threads: n.threads,
		Alive: members{n.raft, n}.Alive, Changed: n.raft.LivenessChanged, Log: n.o.Log})
}

// members implements admin.Members: what the node knows of the others.
type members struct {
	r *raftnode.Node
	n *Node
}

// Alive implements admin.Members.
func (m members) Alive(id uint64) bool {
	alive, _ := m.r.Liveness(id)
	return alive
}

// Changed implements admin.Members.
func (m members) Changed() <-chan struct{} { return m.r.LivenessChanged() }

// Horizon implements coord.Config.
func (m members) Horizon() uint64 { return m.r.Horizon() }

// Leads implements admin.Members.
func (m members) Leads() bool { return m.r.Leads() }

// Load implements admin.Members.
func (m members) Load(id uint64) admin.NodeLoad {
	l := admin.NodeLoad{Files: m.n.repl.Replicas(id), Leader: m.r.Leader() == id}
	if alive, _ := m.r.Liveness(id); alive {
		l.Tasks = len(m.n.tasksOf(id))
	}
	return l
}

// Versions implements admin.Members.
func (m members) Versions(ctx context.Context) map[uint64]uint32 {
	out := map[uint64]uint32{m.n.dir.ID: version.Binary}
	ids, answers := askAll(ctx, m.n, m.r.Peers().Version)
	for i, id := range ids {
		out[id] = answers[i].reply
	}
	return out
}

// Remove implements admin.Members.
func (m members) Remove(ctx context.Context, id uint64) error { return m.r.Remove(ctx, id) }

// blobs implements training.Blobs: files that belong to no table.
type blobs struct{ n *Node }

// Put implements training.Blobs.
func (b blobs) Put(ctx context.Context, write func(io.Writer) error) (*catalog.Segment, error) {
	ref, err := b.n.store.PutBlob(b.n.o.InlineBlob, write)
	if err != nil {
		return nil, err
	}
	if err := b.n.repl.Push(ctx, ref); err != nil {
		b.n.store.Discard(ref.ID)
		return nil, err
	}
	return ref, nil
}

// Hold implements training.Blobs.
func (b blobs) Hold() (release func()) { return b.n.repl.Hold() }

// Discard implements training.Blobs.
func (b blobs) Discard(ref *catalog.Segment) {
	b.n.repl.Discard(context.Background(), []*catalog.Segment{ref})
}

// Prove implements training.Blobs.
func (b blobs) Prove(ctx context.Context, files []*catalog.Segment) error {
	if len(files) == 0 {
		return nil
	}
	return b.n.repl.Prove(ctx, files)
}

// Read implements training.Blobs.
func (b blobs) Read(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error {
	return b.n.store.ReadBlob(ctx, ref, use)
}
