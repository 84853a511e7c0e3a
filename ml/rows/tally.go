package rows

import (
	"sync"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
)

// tally is the statistics of rows that are not kept, taken as they pass.
//
// Statistics are of the rows that are not held out, and which these are depends on how
// often rows occur: which is known when all have been read. But which bins of the draw
// are held out is known approximately before. So separate statistics are taken for the
// rows below the cut, for those above it, and by bin in between (holdout.Bands); and those of
// frequent rows row by row (frequentcopies.go).
type tally struct {
	b     *base
	bands holdout.Bands
	// For windows: how long partitions are.
	lengths *record.Lengths

	mu    sync.Mutex
	stats []*feature.Stats // of this reading, by band; nil for no rows
	separate

	charging sync.Mutex
	acct     *mem.Account
}

func newTally(b *base) *tally {
	t := &tally{b: b, acct: b.cfg.Pool.Account("training statistics", false)}
	t.renew(b.Bands)
	return t
}

// renew begins another tally, by these bands.
func (t *tally) renew(bands holdout.Bands) {
	t.bands, t.stats = bands, make([]*feature.Stats, bands.Parts())
}

// charge charges the least that rows that pass by need; a negative number releases.
func (t *tally) charge(n int64) {
	t.charging.Lock()
	defer t.charging.Unlock()
	if n < 0 {
		t.acct.Shrink(-n)
	} else {
		t.acct.Take(n)
	}
}

// forget frees the statistics of the last reading.
func (t *tally) forget() {
	for i, st := range t.stats {
		t.charge(-st.Bytes())
		t.stats[i] = nil
	}
}

// close frees everything.
func (t *tally) close() {
	t.stats, t.separate = nil, separate{}
	t.acct.Close()
}

// add adds the statistics of rows of a band.
func (t *tally) add(band int, st *feature.Stats) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.stats[band].Bytes()
	if t.stats[band] != nil {
		st, err = t.b.Spec.MergeStats(t.stats[band], st)
	}
	if err == nil {
		t.stats[band] = st
		t.charge(st.Bytes() - was)
	}
	return err
}

// all returns the statistics of all rows except those that h holds out on this node; nil
// for no rows. seen is how often rows occur where copies may have been read before they
// were counted separately.
func (t *tally) all(h *holdout.Holdout, seen *holdout.Copies) (sum *feature.Stats, err error) {
	held, ok := t.bands.Held(h)
	if !ok {
		return nil, ErrDraw
	}
	spec := t.b.Spec
	for i, st := range t.stats {
		switch {
		case st == nil:
			continue
		case held[i]:
			st = spec.Hold(st)
		}
		if sum == nil {
			sum = st
		} else if sum, err = spec.MergeStats(sum, st); err != nil {
			return nil, err
		}
	}
	return t.addSeparate(sum, h, held, seen)
}

// view takes the statistics of rows that a store does not keep.
func (t *tally) view(v *record.View) error {
	if v.Rows == 0 {
		return nil
	}
	spec, rest, ctx := t.b.Spec, v, t.b.cfg.Context
	if t.b.Counts {
		apart, err := t.sift(v.Rows, func(i int) block.RowHash { h, _ := v.Hash(i); return h },
			func(i int) (*feature.Stats, error) { return spec.Collect(ctx, v.Only(i)) })
		if err != nil {
			return err
		}
		if apart != nil {
			rest, _ = v.SplitBy(func(i int) bool { return apart[i] })
		}
	}
	for band, v := range rest.Banded(t.bands) {
		if v == nil {
			continue
		}
		st, err := spec.Collect(ctx, v)
		if err == nil {
			err = t.add(band, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// block takes the statistics of a block of rows in place that is not kept.
func (t *tally) block(b *block.Block, taken *feature.Taken) error {
	spec := t.b.Spec
	if !t.b.Counts {
		st, err := spec.CollectTaken(b, taken)
		if err == nil {
			err = t.add(t.bands.Parts()-1, st)
		}
		return err
	}
	apart, err := t.sift(taken.Rows, func(i int) block.RowHash { return b.Hashes[i] },
		func(i int) (*feature.Stats, error) { return spec.CollectRows(b, taken, []int32{int32(i)}) })
	if err != nil {
		return err
	}
	rows := make([][]int32, t.bands.Parts())
	for i, h := range b.Hashes[:taken.Rows] {
		if apart != nil && apart[i] {
			continue
		}
		band := t.bands.Part(h)
		rows[band] = append(rows[band], int32(i))
	}
	for band, rows := range rows {
		if rows == nil {
			continue
		}
		st, err := spec.CollectRows(b, taken, rows)
		if err == nil {
			err = t.add(band, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
