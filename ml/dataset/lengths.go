package dataset

import (
	"bytes"
	"slices"
	"sync"
)

// Lengths counts the rows of partitions that flow by, for rows are trained on if some window has
// them: all rows of a partition that is long enough and has no row left over, by its number of rows.
// Rows are kept as long as no window's rows of their partition have come, for it may be too short.
// Its methods may be called from any goroutine.
type Lengths struct {
	w      *Windows
	most   int64 // bytes it may have
	charge func(n int64)

	mu    sync.Mutex
	rows  map[RowHash]uint32 // by partition: a leaf has no more
	kept  []byte             // records of rows that are kept
	n     int                // how many
	bytes int64              // charged
	lost  bool               // too many partitions or rows were to be kept
}

const lengthBytes = 40 // of a partition, about: 16 and 4 in a table three fifths full

// NewLengths counts within most bytes (0: any), which charge is told.
func NewLengths(w *Windows, most int64, charge func(n int64)) *Lengths {
	return &Lengths{w: w, most: most, charge: charge, rows: map[RowHash]uint32{}}
}

// count counts the rows of some records, before Sift is given them.
func (l *Lengths) count(runs [][]key, regions [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := len(l.rows)
	for _, run := range runs {
		for _, k := range run {
			if !l.lost {
				l.rows[RowHash(k.at.in(regions))]++
			}
		}
	}
	l.resize(int64(len(l.rows)-was) * lengthBytes)
}

// resize charges bytes, and gives up where they are too many.
func (l *Lengths) resize(n int64) {
	l.bytes += n
	l.charge(n)
	if l.most > 0 && l.bytes > l.most {
		l.giveUp()
	}
}

func (l *Lengths) giveUp() {
	l.charge(-l.bytes)
	l.lost, l.rows, l.kept, l.n, l.bytes = true, nil, nil, 0, 0
}

// Lose forgets all: rows came that nobody counted, or nobody asks any more.
func (l *Lengths) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUp()
}

// Sift returns the rows of a view that are of partitions of enough rows, nil for none, and keeps
// the others. again are rows that were kept, and are of such partitions by now.
func (l *Lengths) Sift(v *View) (enough, again *View) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return nil, nil
	}
	rest, few := v.SplitBy(func(i int) bool { return l.few(v.rec(i)) })
	if few.Rows == 0 {
		return v, nil
	}
	size := 0
	for i := range few.Rows {
		size += len(v.layout.whole(few.rec(i)))
	}
	if l.most > 0 && l.bytes+2*int64(size) > l.most {
		if again = l.settle(v, l.few); l.lost {
			return nil, nil
		}
	}
	before := cap(l.kept)
	l.kept = slices.Grow(l.kept, size)
	for i := range few.Rows {
		l.kept = append(l.kept, v.layout.whole(few.rec(i))...)
	}
	l.n += few.Rows
	l.resize(int64(cap(l.kept) - before))
	return rest, again
}

// few reports whether a record's partition has had fewer rows so far.
func (l *Lengths) few(rec []byte) bool { return int(l.rows[RowHash(rec)]) < l.w.Length }

// settle returns the rows that were kept but for those of which keep says so, as a view like v.
func (l *Lengths) settle(v *View, keep func(rec []byte) bool) *View {
	if l.n == 0 {
		return nil
	}
	all := *v
	all.regions, all.order, all.recs, all.release = [][]byte{l.kept}, nil, nil, func() {}
	for _, k := range v.layout.keys(nil, l.kept, 0) {
		all.order = append(all.order, k.at)
	}
	all.Rows = len(all.order)
	stay, gone := all.SplitBy(func(i int) bool { return !keep(all.rec(i)) })
	before := cap(l.kept)
	l.kept, l.n = nil, stay.Rows
	for i := range stay.Rows {
		l.kept = append(l.kept, v.layout.whole(stay.rec(i))...)
	}
	l.resize(int64(cap(l.kept) - before))
	return gone
}

// Rest returns the rows that were kept, of records of layout, but for those of the partitions
// short, ascending: the partitions of the others have enough rows on all nodes together. Nothing
// is kept any more. It is nil for none.
func (l *Lengths) Rest(layout *Layout, short []RowHash) *View {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.settle(&View{layout: layout}, func(rec []byte) bool { return among(short, RowHash(rec)) })
	before := cap(l.kept)
	l.kept, l.n = nil, 0
	l.resize(-int64(before))
	return v
}

func among(sorted []RowHash, h RowHash) bool {
	_, ok := slices.BinarySearchFunc(sorted, h, compareHashes)
	return ok
}

func compareHashes(a, b RowHash) int { return bytes.Compare(a[:], b[:]) }

// Of returns how many rows these partitions have, or without any those of which it matters:
// they are too few here, or they may not be a whole number of strides together with others'.
// Missed is set where that is not known.
func (l *Lengths) Of(partitions []RowHash, node int) *Copies {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &Copies{}
	if l.lost {
		c.Missed = 1
	}
	add := func(h RowHash, n uint32) { c.List = append(c.List, Copy{Hash: h, Node: int32(node), N: int64(n)}) }
	for _, h := range partitions {
		if n := l.rows[h]; n > 0 {
			add(h, n)
		}
	}
	if partitions == nil {
		for h, n := range l.rows {
			if int(n) < l.w.Length || l.w.Stride > 1 {
				add(h, n)
			}
		}
		slices.SortFunc(c.List, func(a, b Copy) int { return compareHashes(a.Hash, b.Hash) })
	}
	return c
}

// Counts reports whether the number of a partition's rows may tell which of them windows have:
// where no row lies between two windows.
func (w *Windows) Counts() bool { return w.Stride <= w.Length }

// left is how many rows of a partition of so many no window has, where none lie between two.
func (w *Windows) left(rows int64) int64 {
	if rows < int64(w.Length) {
		return rows
	}
	return (rows - int64(w.Length)) % int64(w.Stride)
}

// Left returns how many rows of a view, one partition of them after the other, are of partitions
// there of which a row is left over.
func (w *Windows) Left(v *View) (rows int) {
	runs(v.Rows, func(i, j int) bool { return RowHash(v.rec(i)) == RowHash(v.rec(j)) }, func(from, to int) {
		if w.left(int64(to-from)) > 0 {
			rows += to - from
		}
	})
	return rows
}

// Short returns the partitions that have fewer rows on all nodes together than a window, ascending.
// ok is false where another has rows left over: which these are, their number does not tell.
func (w *Windows) Short(c *Copies) (short []RowHash, ok bool) {
	ok = true
	c.each(func(h RowHash, _ []Copy, n int64) {
		if n < int64(w.Length) {
			short = append(short, h)
		} else if w.left(n) > 0 {
			ok = false
		}
	})
	return short, ok
}

// Without returns the rows of a view that are not of these partitions, ascending.
func (v *View) Without(partitions []RowHash) *View {
	if len(partitions) == 0 {
		return v
	}
	rest, _ := v.SplitBy(func(i int) bool { return among(partitions, RowHash(v.rec(i))) })
	return rest
}
