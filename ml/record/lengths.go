package record

import (
	"slices"
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
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
	rows  map[block.RowHash]uint32 // by partition: a leaf has no more
	kept  [][]byte                 // records of rows that are kept
	bytes int64                    // charged
	lost  bool                     // too many partitions or rows were to be kept
}

const lengthBytes = 40 // of a partition, about: 16 and 4 in a table three fifths full

// NewLengths returns a Lengths that uses at most so many bytes (0: any), which it
// reports to charge.
func NewLengths(w *Windows, most int64, charge func(n int64)) *Lengths {
	return &Lengths{w: w, most: most, charge: charge, rows: map[block.RowHash]uint32{}}
}

// count counts the rows of some records, before they are passed to Sift.
func (l *Lengths) count(runs [][]key, regions [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := len(l.rows)
	for _, run := range runs {
		for _, k := range run {
			if !l.lost {
				l.rows[block.RowHash(k.at.in(regions))]++
			}
		}
	}
	l.resize(int64(len(l.rows)-was) * lengthBytes)
}

// resize charges bytes, and gives up counting where they are too many.
func (l *Lengths) resize(n int64) {
	l.bytes += n
	l.charge(n)
	if l.most > 0 && l.bytes > l.most {
		l.giveUp()
	}
}

func (l *Lengths) giveUp() {
	l.charge(-l.bytes)
	l.lost, l.rows, l.kept, l.bytes = true, nil, nil, 0
}

// Lose drops everything: some rows were not counted, or the counts are no longer
// needed.
func (l *Lengths) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUp()
}

// Sift calls use with the rows of a view that are of partitions of enough rows, and keeps the
// others. When these are many it is called with those too that are of such partitions by now.
func (l *Lengths) Sift(v *View, use func(v *View) error) error {
	l.mu.Lock()
	if l.lost {
		l.mu.Unlock()
		return nil
	}
	enough, few := v.SplitBy(func(i int) bool { return l.few(v.rec(i)) })
	err := l.keep(few, use)
	l.mu.Unlock()
	if err != nil || enough.Rows == 0 {
		return err
	}
	return use(enough)
}

// few reports whether a record's partition has had fewer rows so far.
func (l *Lengths) few(rec []byte) bool { return int(l.rows[block.RowHash(rec)]) < l.w.Length }

// keep keeps the rows of a view. Called with the lock held.
func (l *Lengths) keep(v *View, use func(v *View) error) error {
	if v.Rows == 0 {
		return nil
	}
	size := v.bytes()
	if l.most > 0 && l.bytes+size > l.most {
		if err := l.flush(v.layout, l.few, use); err != nil {
			return err
		}
	}
	if l.resize(size); !l.lost {
		l.kept = append(l.kept, v.records(size))
	}
	return nil
}

// flush calls use with the kept rows, except those for which still returns true: they
// stay. The lock is held.
func (l *Lengths) flush(layout *Layout, still func(rec []byte) bool, use func(v *View) error) error {
	var stay [][]byte
	for _, recs := range l.kept {
		v := &View{layout: layout, regions: [][]byte{recs}, release: func() {}}
		for at := 0; at < len(recs); at += len(layout.whole(recs[at:])) {
			v.order = append(v.order, loc(at/8))
		}
		v.Rows = len(v.order)
		gone, rest := v.SplitBy(func(i int) bool { return still(v.rec(i)) })
		if gone.Rows == 0 {
			stay = append(stay, recs)
			continue
		}
		if err := use(gone); err != nil {
			return err
		}
		if size := rest.bytes(); size > 0 {
			l.bytes += size
			l.charge(size)
			stay = append(stay, rest.records(size))
		}
		l.bytes -= int64(len(recs))
		l.charge(-int64(len(recs)))
	}
	l.kept = stay
	return nil
}

// bytes is the size of the records of a view.
func (v *View) bytes() (n int64) {
	for i := range v.Rows {
		n += int64(len(v.layout.whole(v.rec(i))))
	}
	return n
}

// records are copies of them.
func (v *View) records(size int64) []byte {
	out := make([]byte, 0, size)
	for i := range v.Rows {
		out = append(out, v.layout.whole(v.rec(i))...)
	}
	return out
}

// Rest calls use with the rows that were kept, of records of layout, except those of
// the partitions short, ascending: the others' partitions have enough rows on all nodes
// together.
func (l *Lengths) Rest(layout *Layout, short []block.RowHash, use func(v *View) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush(layout, func(rec []byte) bool { return among(short, block.RowHash(rec)) }, use)
}

func among(sorted []block.RowHash, h block.RowHash) bool {
	_, ok := slices.BinarySearchFunc(sorted, h, block.CompareHashes)
	return ok
}

// Of returns how many rows these partitions have, or without any those of which it matters:
// they are too few here, or they may not be a whole number of strides together with others'.
// Missed is set where that is not known.
func (l *Lengths) Of(partitions []block.RowHash, node int) *holdout.Copies {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &holdout.Copies{}
	if l.lost {
		c.Missed = 1
	}
	add := func(h block.RowHash, n uint32) {
		c.List = append(c.List, holdout.Copy{Hash: h, Node: int32(node), N: int64(n)})
	}
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
		slices.SortFunc(c.List, func(a, b holdout.Copy) int { return block.CompareHashes(a.Hash, b.Hash) })
	}
	return c
}

// Counts reports whether the number of a partition's rows may determine which of them
// are in windows: where there are no rows between two windows.
func (w *Windows) Counts() bool { return w.Stride <= w.Length }

// left is how many rows of a partition of so many no window has, where none lie between two.
func (w *Windows) left(rows int64) int64 {
	if rows < int64(w.Length) {
		return rows
	}
	return (rows - int64(w.Length)) % int64(w.Stride)
}

// Left returns how many rows of a view, one partition of them after the other, are of partitions
// there that are shorter than a window, and how many of longer ones of which a row is left over.
func (w *Windows) Left(v *View) (short, uneven int) {
	eachRun(v.Rows, func(i, j int) bool { return block.RowHash(v.rec(i)) == block.RowHash(v.rec(j)) }, func(from, to int) {
		switch rows := to - from; {
		case rows < w.Length:
			short += rows
		case w.left(int64(rows)) > 0:
			uneven += rows
		}
	})
	return short, uneven
}

// Short returns the partitions that have fewer rows on all nodes together than a
// window, ascending. ok is false where another partition has a remainder, since the
// number of rows does not determine which rows it is.
func (w *Windows) Short(c *holdout.Copies) (short []block.RowHash, ok bool) {
	ok = true
	c.Each(func(h block.RowHash, _ []holdout.Copy, n int64) {
		if n < int64(w.Length) {
			short = append(short, h)
		} else if w.left(n) > 0 {
			ok = false
		}
	})
	return short, ok
}

// Without returns the rows of a view that are not of these partitions, ascending.
func (v *View) Without(partitions []block.RowHash) *View {
	if len(partitions) == 0 {
		return v
	}
	rest, _ := v.SplitBy(func(i int) bool { return among(partitions, block.RowHash(v.rec(i))) })
	return rest
}
