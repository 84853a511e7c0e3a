package trainer

import (
	"context"
	"slices"
	"time"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/types"
)

// askFor is how long members may take to answer what they have cached: beyond that,
// reading the rows costs no more.
const askFor = 5 * time.Second

// OpenCached opens a group over the cached dataset of an earlier group, and returns the
// encoded data that the earlier driver kept; nil where not all members have their part
// of it, or where the members would be others now.
func (t *Trainer) OpenCached(ctx context.Context, name string, job *train.Job, others []uint64, src *train.Source, role types.OID) (*Group, *train.Encoded, error) {
	have := t.kept.find(src.Key)
	m := openMsg{Name: name, Job: job.Encode(), Members: t.members(others), Key: src.Key, Over: have.Origin, Role: role}
	if have.Origin == "" || !sameNodes(m.Members, have.Members) {
		return nil, nil, nil
	}
	asking, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	all := make([]keptMsg, len(m.Members))
	err := parallel(asking, len(m.Members), func(ctx context.Context, i int) (err error) {
		all[i] = have
		if i > 0 {
			all[i], err = rpc.Call[keptMsg](ctx, t.cfg.Peers, m.Members[i], callKept, src.Key)
		}
		return err
	})
	if err != nil {
		return nil, nil, ctx.Err() // a member that does not answer has nothing cached
	}
	var root []byte
	for _, k := range all {
		if k.Origin != have.Origin {
			return nil, nil, nil
		}
		if k.Root != nil {
			root = k.Root
		}
	}
	s, err := job.DecodeEncoded(root)
	if err != nil { // written by another version of the program
		t.log.Info("a kept dataset cannot be used", "training", have.Origin, "error", err)
		return nil, nil, nil
	}
	g, err := t.open(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	return g, s, nil
}

func sameNodes(a, b []uint64) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Keep has the members cache their parts of the group's dataset, for a later training.
// Members that cannot keep their part drop it.
func (g *Group) Keep(ctx context.Context, src *train.Source, s *train.Encoded) error {
	var root canon.E
	s.Encode(&root)
	return g.each(ctx, func(ctx context.Context, i int, id uint64) error {
		if i == 0 {
			g.own.keep(*src, root.B)
			return nil
		}
		_, err := rpc.Call[bool](ctx, g.t.cfg.Peers, id, callKeep, keepMsg{g.name, *src})
		return err
	})
}

func (t *Trainer) handleKept(_ context.Context, key [32]byte) (keptMsg, error) {
	return t.kept.find(key), nil
}

func (t *Trainer) handleKeep(ctx context.Context, m keepMsg) (bool, error) {
	p, _, done, err := t.use(ctx, m.Name)
	if err != nil {
		return false, err
	}
	defer done()
	p.keep(m.Source, nil)
	return true, nil
}
