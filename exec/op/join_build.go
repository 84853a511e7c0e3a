package op

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// build takes in the lane's right rows and makes the table with the others, or
// ends in the spilled state.
func (o *join) build(ctx context.Context) error {
	s, c := o.s, o.s.cfg
	set := newRowSet(c.rStoredTypes)
	s.sets[o.lane] = set
	add := func(b *batch.Batch) error {
		b, err := stored(ctx, b, c.rStored, c.RKeys[o.lane])
		if err != nil {
			return err
		}
		if !s.spilling.Load() {
			err := o.acct.Grow(b.Bytes())
			if err == nil && !o.acct.ShouldSpill() && !set.full() {
				set.add(b)
				return nil
			}
			if err != nil && !refused(err, o.acct) {
				return err
			}
			s.spilling.Store(true)
		}
		return o.spillBuild(ctx, b)
	}
	if err := drain(ctx, o.r, func(b *batch.Batch) error { return inPieces(b, add) }); err != nil {
		return err
	}
	if err := o.r.Close(); err != nil {
		return err
	}
	if !s.spilling.Load() {
		set.flush()
	}
	if err := s.bar.Wait(ctx, s.reserve); err != nil {
		return err
	}
	if s.spilling.Load() {
		o.state = joinSpilled
		return o.spillInputs(ctx)
	}
	t := s.table
	if c.directKey {
		for {
			ch := int(t.chunk.Add(1)) - 1
			if ch >= len(t.rows.lens) {
				break
			}
			t.findRange(ch)
		}
		if err := s.bar.Wait(ctx, func() error { t.size(s.grant); t.chunk.Store(0); return nil }); err != nil {
			return err
		}
	}
	for {
		ch := int(t.chunk.Add(1)) - 1
		if ch >= len(t.rows.lens) {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t.insert(&o.ins, len(t.rows.lens)-1-ch, s.rt.Lanes == 1)
	}
	o.state = joinProbing
	return s.bar.Wait(ctx, func() error { t.finish(); t.publish(c.Filters, s.grant); return nil })
}

// reserve runs between the phases: it puts the lanes' rows together and makes
// room for the table, or decides to spill.
func (s *joinShared) reserve() error {
	if s.spilling.Load() {
		return nil
	}
	n, chunks, bytes := int64(0), 0, int64(0)
	for _, set := range s.sets {
		if set != nil {
			n += set.n
			chunks += len(set.lens)
			bytes += set.bytes
		}
	}
	room := pairRoom(bytes, n)
	if chunks >= kernel.MaxChunks-64*s.rt.Lanes {
		s.spilling.Store(true)
		return nil
	}
	if err := s.acct.Grow(tableBytes(s.cfg, n, chunks) + room*int64(s.rt.Lanes)); err != nil {
		if !refused(err, s.acct) {
			return err
		}
		s.spilling.Store(true)
		return nil
	}
	s.room = room
	rows := newRowSet(s.cfg.rStoredTypes)
	for _, set := range s.sets {
		if set != nil {
			rows.take(set)
		}
	}
	s.table = newJoinTable(s.cfg, rows)
	rows.seal()
	if !s.cfg.directKey {
		s.table.size(nil)
	}
	return nil
}

// grant charges memory that the table can do without.
func (s *joinShared) grant(bytes int64) bool { return s.acct.Try(bytes) }
