package node

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// raftMeta implements coord.Meta over raftnode.
type raftMeta struct {
	*raftnode.Node
	past *past.History
}

// Past implements txn.Historian.
func (m raftMeta) Past(ctx context.Context, at time.Time, hold func(version uint64)) (*catalog.State, error) {
	now := m.Current()
	if !at.Before(now.Time()) {
		hold(now.Version())
		return now, nil
	}
	s, err := m.past.At(ctx, at)
	if err != nil {
		return nil, err
	}
	hold(s.Version()) // from now on no file goes that the newest state has
	return m.past.Seen(ctx, m.Current(), at)
}

// Seen implements coord.Historian.
func (m raftMeta) Seen(ctx context.Context, version uint64, hold func(version uint64)) (*catalog.State, error) {
	s, err := m.past.SeenVersion(ctx, m.Current(), version)
	if err != nil {
		return nil, err
	}
	hold(s.Version())
	return m.past.SeenVersion(ctx, m.Current(), version)
}

// Was implements coord.Historian.
func (m raftMeta) Was(ctx context.Context, at time.Time, version uint64, hold func(version uint64)) (*catalog.State, error) {
	s, err := m.past.Was(ctx, m.Current(), at, version)
	if err != nil {
		return nil, err
	}
	hold(s.Version())
	return m.past.Was(ctx, m.Current(), at, version)
}

// Barrier implements coord.Meta.
func (m raftMeta) Barrier(ctx context.Context) error { return m.ReadIndex(ctx) }

// Commit implements coord.Meta.
func (m raftMeta) Commit(ctx context.Context, changes []catalog.Change) error {
	if err := catalog.TakenOver(m.Current()); err != nil {
		return err
	}
	_, err := m.Propose(ctx, changes)
	return err
}

// AllocOIDs implements coord.Meta.
func (m raftMeta) AllocOIDs(ctx context.Context, n int) (types.OID, error) {
	r, err := m.Propose(ctx, []catalog.Change{&catalog.AllocOIDs{N: n}})
	if err != nil {
		return 0, notTaken(ctx, err)
	}
	return r.Outcome.OIDs[0], nil
}

// Advance implements coord.Meta.
func (m raftMeta) Advance(ctx context.Context, seq types.OID, n int64) (catalog.SeqRange, error) {
	r, err := m.Propose(ctx, []catalog.Change{&catalog.AdvanceSequence{OID: seq, N: n}})
	if err != nil {
		return catalog.SeqRange{}, notTaken(ctx, err)
	}
	return r.Outcome.Sequences[0], nil
}

// notTaken returns the error of a failed allocation of numbers. It is never 40003: if
// the numbers were taken after all they are only a gap.
func notTaken(ctx context.Context, err error) error {
	if !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return pgerr.New(pgerr.CannotConnectNow, "the cluster did not answer in time")
}
