package join

import (
	"context"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
)

// build reads the thread's right rows and builds the table together with the others, or ends in the
// spilled state.
func (o *join) build(ctx context.Context) error {
	s, c := o.s, o.s.cfg
	set := rowset.New(c.rStoredTypes)
	s.sets[o.thread] = set
	add := func(b *batch.Batch) error {
		b, err := stored(ctx, b, c.rStored, c.RKeys[o.thread])
		if err != nil {
			return err
		}
		if !s.spilling.Load() {
			err := o.acct.Grow(b.Bytes())
			if err == nil && !o.acct.ShouldSpill() && !set.Full() {
				set.Add(b)
				return nil
			}
			if err != nil && !o.acct.Refused(err) {
				return err
			}
			s.spilling.Store(true)
		}
		return o.spillBuild(ctx, b)
	}
	if err := op.Drain(ctx, o.r, func(b *batch.Batch) error { return op.InHalves(b, add) }); err != nil {
		return err
	}
	if err := o.r.Close(); err != nil {
		return err
	}
	if !s.spilling.Load() {
		set.Flush()
	}
	if err := s.bar.Wait(ctx, s.reserve); err != nil {
		return err
	}
	if s.spilling.Load() {
		o.phase = spilled
		return o.spillInputs(ctx)
	}
	t := s.table
	if c.directKey {
		if err := o.each(ctx, t.rows.Chunks(), t.findRange, func() { t.size(s.grant) }); err != nil {
			return err
		}
		if t.exists != nil {
			if err := o.each(ctx, t.rows.Chunks(), t.note, t.rank); err != nil {
				return err
			}
		}
	}
	insert := func(ch int) { t.insert(&o.ins, t.rows.Chunks()-1-ch, s.rt.Threads == 1) }
	o.phase = probing
	if err := o.each(ctx, t.rows.Chunks(), insert, func() { t.finish(); s.lists = newListOrder(t) }); err != nil {
		return err
	}
	if s.lists != nil {
		var acct *mem.Account
		if len(t.keys) > 0 {
			acct = s.acct
		}
		each := func(n int, do func(i int), then func()) error { return o.each(ctx, n, do, then) }
		if err := s.lists.make(each, acct); err != nil {
			return err
		}
	}
	return s.bar.Wait(ctx, func() error {
		s.lists = nil
		t.copy = newRowCopy(t, s.copyAcct)
		t.publish(c.Filters, s.grant)
		s.built = true
		return nil
	})
}

// each calls do for each of n things, shared among the threads, and then once then.
func (o *join) each(ctx context.Context, n int, do func(i int), then func()) error {
	t := o.s.table
	for {
		// Not between taking one and doing it: the others go on without this thread,
		// but would take the table for whole.
		if err := ctx.Err(); err != nil {
			return err
		}
		i := int(t.chunk.Add(1)) - 1
		if i >= n {
			break
		}
		do(i)
	}
	return o.s.bar.Wait(ctx, func() error { then(); t.chunk.Store(0); return nil })
}

// reserve runs between the phases: it combines the threads' rows and charges the table, or decides
// to spill.
func (s *shared) reserve() error {
	if s.spilling.Load() {
		return nil
	}
	n, chunks, ids, bytes := int64(0), 0, int64(0), int64(0)
	for _, set := range s.sets {
		if set != nil {
			n += set.Rows()
			ids = int64(chunks)*kernel.ChunkRows + set.Span()
			chunks += set.Chunks()
			bytes += set.Bytes()
		}
	}
	room := pairRoom(bytes, n)
	if chunks >= kernel.MaxChunks-64*s.rt.Threads {
		s.spilling.Store(true)
		return nil
	}
	if err := s.acct.Grow(tableBytes(s.cfg, n, ids) + room*int64(s.rt.Threads)); err != nil {
		if !s.acct.Refused(err) {
			return err
		}
		s.spilling.Store(true)
		return nil
	}
	s.room = room
	rows := rowset.New(s.cfg.rStoredTypes)
	for _, set := range s.sets {
		if set != nil {
			rows.Take(set)
		}
	}
	s.table = newHashTable(s.cfg, rows)
	rows.Finish()
	rows.Encode(s.cfg.given)
	if !s.cfg.directKey {
		s.table.size(nil)
	}
	return nil
}

// grant charges optional memory of the table, and reports whether it was available.
func (s *shared) grant(bytes int64) bool { return s.acct.Try(bytes) }
