package record

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Windows says of a keyed store what its rows are distributed by and how they lie: the
// rows of a partition, those that agree in the columns Partition, follow each
// other in the order of the values of the columns Order. A window is Length rows
// of a partition that follow each other; windows begin at every Stride-th row of
// it, and only whole ones count.
type Windows struct {
	Partition, Order []int // numbers of columns
	Length, Stride   int
}

// of returns the number of windows of a partition of so many rows.
func (w *Windows) of(rows int) int {
	if rows < w.Length {
		return 0
	}
	return (rows-w.Length)/w.Stride + 1
}

// Check reports whether rows of this layout can be distributed so: 0A000 for a column
// whose values have no order of their bytes or numbers.
func (w *Windows) Check(l *Layout) error {
	for _, c := range w.Partition {
		if t := l.Cols[c].Type; !l.orders(c) && !(t.IsString() && t.OID >= types.FirstUserOID) { // an enum
			return pgerr.Unsupported("windows cannot be partitioned by column %q of this type", l.Cols[c].Name).OnColumn(l.Cols[c].Name)
		}
	}
	for _, c := range w.Order {
		if !l.orders(c) {
			return pgerr.Unsupported("windows cannot be ordered by column %q of this type", l.Cols[c].Name).OnColumn(l.Cols[c].Name)
		}
	}
	return nil
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

// orders reports whether values of column c are ordered by rank and compare.
func (l *Layout) orders(c int) bool {
	switch l.classes[c] {
	case classArray:
		return false
	case classFixed:
		return l.Cols[c].Type.OID == types.UUIDOID
	case classText:
		switch l.Cols[c].Type.OID {
		case types.TextOID, types.VarcharOID, types.BpcharOID, types.NameOID, types.CharOID:
			return true
		}
		return false
	}
	return true
}

// rank returns a number that is no greater than that of another record where the value
// of column c, which is not NULL, is not: for most types it determines the order.
func (l *Layout) rank(rec []byte, c int) uint64 {
	const sign = 1 << 63
	float := func(v float64) uint64 {
		b := math.Float64bits(v) // -0 and NaNs but one do not occur in records
		if b&sign != 0 {
			return ^b
		}
		return b | sign
	}
	if l.isCoded() {
		return le.Uint64(rec[block.HashBytes+8*c:])
	}
	at := l.at[c]
	switch l.classes[c] {
	case classF64:
		return float(math.Float64frombits(le.Uint64(rec[at:])))
	case classF32:
		return float(float64(math.Float32frombits(le.Uint32(rec[at:]))))
	case classI64:
		return le.Uint64(rec[at:]) ^ sign
	case classI32:
		return uint64(int64(int32(le.Uint32(rec[at:])))) ^ sign
	case classI16:
		return uint64(int64(int16(le.Uint16(rec[at:])))) ^ sign
	case classU32:
		return uint64(le.Uint32(rec[at:]))
	case classBool:
		return uint64(rec[at])
	case classNumeric:
		return 0
	}
	var head [8]byte
	copy(head[:], l.value(rec, c))
	return be.Uint64(head[:])
}

// Ranks reports whether ranks determine the order completely.
func (w *Windows) Ranks(l *Layout) bool {
	return !slices.ContainsFunc(w.Order, func(c int) bool { return l.classes[c].variable() })
}

// compareValues compares the values of column c in two records, neither NULL.
func (l *Layout) compareValues(a, b []byte, c int) int {
	if l.isCoded() {
		return cmp.Compare(l.rank(a, c), l.rank(b, c))
	}
	switch l.classes[c] {
	case classNumeric:
		return number.CompareDecimalBytes(l.value(a, c), l.value(b, c))
	case classText, classBytes, classFixed:
		return bytes.Compare(l.value(a, c), l.value(b, c))
	}
	return cmp.Compare(l.rank(a, c), l.rank(b, c))
}

// partitionKey appends the bytes that identify a partition.
func (l *Layout) partitionKey(dst, rec []byte, cols []int) []byte {
	for _, c := range cols {
		v := l.value(rec, c)
		if v == nil {
			dst = le.AppendUint64(dst, math.MaxUint64)
			continue
		}
		dst = append(le.AppendUint64(dst, uint64(len(v))), v...)
		for len(dst)%8 != 0 {
			dst = append(dst, 0)
		}
	}
	return dst
}

// comparePartitions orders records by partition: by its hash, which all of a
// partition's records begin with, and by the columns where that is shared.
func (l *Layout) comparePartitions(a, b []byte, cols []int) int {
	if c := bytes.Compare(a[:block.HashBytes], b[:block.HashBytes]); c != 0 {
		return c
	}
	for _, c := range cols {
		if x, y := l.null(a, c), l.null(b, c); x != y {
			if x {
				return 1
			}
			return -1
		}
		if d := bytes.Compare(l.value(a, c), l.value(b, c)); d != 0 {
			return d
		}
	}
	return 0
}

// ranked is a key with the rank of its record's first order column.
type ranked struct {
	key
	rank uint64
}

// compareOrder compares what rows of a partition are ordered by.
func (l *Layout) compareOrder(a, b []byte, cols []int) int {
	for _, c := range cols {
		if d := l.compareValues(a, b, c); d != 0 {
			return d
		}
	}
	return 0
}

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

// eachRun calls f with each run [from, to) of neighbours that are the same, of n.
func eachRun(n int, same func(i, j int) bool, f func(from, to int)) {
	for from := 0; from < n; {
		to := from + 1
		for to < n && same(from, to) {
			to++
		}
		f(from, to)
		from = to
	}
}

// Windows are the first rows of the windows of a view that Split made, nil where
// rows are not distributed by partition.
func (v *View) Windows() []int32 { return v.first }

// Units is the number of what models learn from: windows, or else rows.
func (v *View) Units() int {
	if v.keyed != nil {
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

func errOrderNull(c Column) error {
	return pgerr.New(pgerr.NullValueNotAllowed, "column %q, by which windows are ordered, contains NULL", c.Name).OnColumn(c.Name).
		WithHint("Leave these rows out: WHERE %q IS NOT NULL.", c.Name)
}
