package record

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// of returns the number of windows of a partition of so many rows.
func (w *Windows) of(rows int) int {
	if rows < w.Length {
		return 0
	}
	return (rows-w.Length)/w.Stride + 1
}

// Leaves is the number of leaves for rows that are distributed by partition, of which
// buckets of all nodes together have these numbers: as few as hold the rows, but
// up to 16 where they are few, for a window is more work than a row. Of few
// partitions it is several for each, to have them apart: no order is known that
// distributes them evenly. A single one is one leaf. So are a few mini-batches of
// windows: what each leaf has of one is worked apart, and products want many samples.
func (w *Windows) Leaves(buckets []int64) int {
	var rows, full int64
	for _, n := range buckets {
		rows += n
		if n > 0 {
			full++
		}
	}
	n := 1
	for full > 1 && int64(n) < 4*full && (n < Leaves(rows) || n < spreadLeaves && rows > int64(n)*max(spreadRows, spreadWindows*int64(w.Stride))) {
		n *= 2
	}
	return n
}

const (
	spreadLeaves  = 16 // to have work for as many nodes
	spreadRows    = 512
	spreadWindows = 256 // the least that are worth a node
)

// sortKeyed orders keys by partition, order columns and then by all bytes.
// Records lie anywhere: they are looked at once for their rank and once to see
// that what shares a hash is one partition, and then only where ranks are equal.
// tied reports whether only their bytes order some.
func (l *Leaf) sortKeyed(t *sorting, w *Windows, regions [][]byte) (order []loc, tied bool) {
	lay := l.store.layout
	rec := func(k ranked) []byte { return k.at.in(regions) }
	t.ranked = slices.Grow(t.ranked[:0], len(t.keys))[:len(t.keys)]
	all := t.ranked
	for i, k := range t.keys {
		all[i] = ranked{key: k}
		if len(w.Order) > 0 {
			all[i].rank = lay.rank(rec(all[i]), w.Order[0])
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		if c := cmp.Compare(a.hi, b.hi); c != 0 {
			return c
		}
		return cmp.Compare(a.rank, b.rank)
	})
	whole := func(a, b ranked) int {
		x, y := rec(a), rec(b)
		if c := lay.comparePartitions(x, y, w.Partition); c != 0 {
			return c
		}
		if c := lay.compareOrder(x, y, w.Order); c != 0 {
			return c
		}
		tied = true
		return bytes.Compare(lay.whole(x), lay.whole(y))
	}
	eachRun(len(all), func(i, j int) bool { return all[i].hi == all[j].hi }, func(from, to int) {
		part := all[from:to]
		for _, k := range part[1:] {
			if lay.comparePartitions(rec(part[0]), rec(k), w.Partition) != 0 {
				slices.SortFunc(part, whole)
				return
			}
		}
		eachRun(len(part), func(i, j int) bool { return part[i].rank == part[j].rank }, func(from, to int) {
			slices.SortFunc(part[from:to], whole)
		})
	})
	order = make([]loc, len(all))
	for i, k := range all {
		order[i] = k.at
	}
	return order, tied
}

// Windows are the first rows of the windows of a view that Split made, or of its partitions
// where these are whole; nil where rows are not distributed by partition.
func (v *View) Windows() []int32 { return v.first }

// Units is the number of what models learn from: windows, or else rows.
func (v *View) Units() int {
	if v.keyed != nil && !v.keyed.Whole {
		return len(v.first)
	}
	return v.Rows
}

// splitWindows parts each partition's windows: the last share of them make the
// second view, for those who forecast want to know how well they do of what
// comes after. How a share that is no whole number is rounded the partition's
// draw decides, so that of partitions of one window a share is held out too.
// Windows that would overlap those held out are in neither view, nor are rows
// that no window has; a row that several windows of a view have is in it once.
func (v *View) splitWindows(share float64) (rest, drawn *View) {
	w, l := v.keyed, v.layout
	parts := [2]*View{}
	for k := range parts {
		c := *v
		c.order, c.recs, c.first, c.release = nil, nil, []int32{}, func() {}
		parts[k] = &c
	}
	same := func(i, j int) bool { return l.comparePartitions(v.rec(i), v.rec(j), w.Partition) == 0 }
	eachRun(len(v.order), same, func(from, to int) {
		if w.Whole {
			p := parts[0]
			if v.Draw(from) < share {
				p = parts[1]
			}
			p.first = append(p.first, int32(len(p.order)))
			p.extend(v, from, to)
			return
		}
		n := w.of(to - from)
		if n == 0 {
			return
		}
		held := 0
		if share > 0 {
			held = min(int(math.Floor(float64(share*float64(n))+v.Draw(from))), n)
		}
		begin := from + (n-held)*w.Stride // of the first window held out
		if held == 0 {
			begin = to
		}
		var end [2]int // of the rows that a view has of this partition
		for i := range n {
			at, k := from+i*w.Stride, 0
			if i >= n-held {
				k = 1
			} else if at+w.Length > begin {
				continue
			}
			p := parts[k]
			p.extend(v, max(at, end[k]), at+w.Length)
			end[k] = at + w.Length
			p.first = append(p.first, int32(len(p.order)-w.Length))
		}
	})
	for _, p := range parts {
		p.Rows = len(p.order)
	}
	return parts[0], parts[1]
}

// extend has v, whose rows are some of all's, have rows [from, to) of them too. As long as
// all that it has follow each other there, as they do where no window is held out or left
// over, its order is a part of theirs and nothing is copied.
func (v *View) extend(all *View, from, to int) {
	if n := len(v.order); n == 0 || from >= n && &v.order[0] == &all.order[from-n] {
		v.order = all.order[from-n : to : to]
		return
	}
	v.order = append(v.order, all.order[from:to]...)
}
