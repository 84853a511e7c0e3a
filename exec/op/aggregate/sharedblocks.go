package aggregate

// Of tables with ranges the threads merge only the blocks of keys that several of them have. Where
// a table's rows are stored in the order of the key, such as order lines by order, and each thread
// reads a range of them, these are few:
//
//	thread 0   blocks 0 1 2 ─┬──▶ results of 0 1
//	                         ├─▶ merged: 2
//	thread 1       blocks 2 3 ──▶ results of 3

// sharedBlocks are those that more than one thread has. Nil: all of them.
type sharedBlocks struct {
	first int64
	by    []uint8 // how many threads have it, up to 2
	part  float64 // of all blocks that the threads have: how many of these are shared
}

// shareBlocks finds the blocks that several threads have; nil where some table has no range
// or most blocks are such.
func (s *aggShared) shareBlocks() *sharedBlocks {
	lo, hi, made := int64(0), int64(-1), 0
	for _, l := range s.with {
		r := l.t.rng
		if r == nil {
			return nil
		}
		if r.made == 0 {
			continue
		}
		if made += r.made; lo > hi {
			lo, hi = r.lo, r.hi
		}
		lo, hi = min(lo, r.lo), max(hi, r.hi)
	}
	if made == 0 || hi-lo >= 2*rangeReach {
		return nil
	}
	out := &sharedBlocks{first: lo, by: make([]uint8, hi-lo+1)}
	for _, l := range s.with {
		l.t.rng.each(func(b int64, _ *rangeBlock) { out.by[b-lo] = min(out.by[b-lo]+1, 2) })
	}
	alone := 0
	for _, n := range out.by {
		if n == 1 {
			alone++
		}
	}
	if 2*alone < made {
		return nil // most would be searched for a few
	}
	out.part = 1 - float64(alone)/float64(made)
	return out
}

func (s *sharedBlocks) has(block int64) bool { return s == nil || s.by[block-s.first] > 1 }

// each calls f for the blocks that are made.
func (r *groupRange) each(f func(block int64, b *rangeBlock)) {
	if r.made == 0 {
		return
	}
	for i, b := range r.blocks[r.lo-r.first : r.hi-r.first+1] {
		if b != nil {
			f(r.lo+int64(i), b)
		}
	}
}

// merged lists the groups of blocks that several threads have, which thread me of n merges.
func (r *groupRange) merged(me, n uint64, shared *sharedBlocks) []uint32 {
	var list []uint32
	r.each(func(block int64, b *rangeBlock) {
		if uint64(block)%n != me || !shared.has(block) {
			return
		}
		for _, g := range b {
			if g != 0 {
				list = append(list, g-1)
			}
		}
	})
	if r.null != 0 && me == 0 {
		list = append(list, r.null-1)
	}
	return list
}

// keepOwn makes the thread return the groups of its table that no other has, after those that it
// merged.
func (o *aggThread) keepOwn() {
	r, shared := o.t.rng, o.s.shared
	if r == nil || shared == nil {
		return
	}
	list := r.merged(0, 1, shared)
	if len(list) == o.t.n() {
		return
	}
	o.own = o.t
	if len(list) > 0 {
		o.ownLost = make([]bool, o.t.n())
		for _, g := range list {
			o.ownLost[g] = true
		}
	}
}

// nextAlive returns the first group from at on that is not lost.
func nextAlive(lost []bool, at, n int) int {
	for lost != nil && at < n && lost[at] {
		at++
	}
	return at
}

// alive lists, of the groups from to to, those that are not lost, as rows from 0 on; nil
// for all.
func alive(lost []bool, from, to int) []int32 {
	if lost == nil {
		return nil
	}
	sel := make([]int32, 0, to-from)
	for i, gone := range lost[from:to] {
		if !gone {
			sel = append(sel, int32(i))
		}
	}
	if len(sel) == to-from {
		return nil
	}
	return sel
}
