package store

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// consecutive are values of a segment's column that came one after the other, each by one
// more than the one before, as a sequence gives them. What is wanted of a column follows
// from the first and how many there are, so their hashes are not in the sketch: they are
// made up for where others come after all.
type consecutive struct{ first, n int64 }

// observeConsecutive is bounds and observe at once for a group of such values; false, and
// nothing is observed, for others.
func (b *builder) observeConsecutive(arr arrow.Array) (z catalog.Zone, ok bool) {
	n := arr.Len()
	if n == 0 || arr.NullN() > 0 {
		return z, false
	}
	var first int64
	switch a := arr.(type) {
	case *array.Int64:
		first, ok = rising(a.Int64Values())
	case *array.Int32:
		first, ok = rising(a.Int32Values())
	}
	if !ok {
		return z, false
	}
	if c := &b.run; c.n == 0 || c.first+c.n != first {
		b.settle()
		*c = consecutive{first: first}
	}
	b.run.n += int64(n)
	b.once.rose(first, first+int64(n)-1)
	return catalog.Zone{Column: b.num, Min: types.DatumAt(b.typ, arr, 0), Max: types.DatumAt(b.typ, arr, n-1)}, true
}

// rising reports whether each value is by one more than the one before. After the greatest
// number there is comes the least, of a sequence that begins again: it is not more.
func rising[T int32 | int64](vals []T) (first int64, ok bool) {
	from := vals[0]
	if n := len(vals) - 1; vals[n]-from != T(n) || vals[n] < from {
		return 0, false
	}
	for i, v := range vals {
		if v != from+T(i) {
			return 0, false
		}
	}
	return int64(from), true
}

// settle adds the consecutive values so far to the sketch.
func (b *builder) settle() {
	for i := range b.run.n {
		v := uint64(b.run.first + i)
		if b.width == 4 {
			v = uint64(uint32(v))
		}
		b.sketch.Add(kernel.Mix(v))
	}
	b.run = consecutive{}
}

// distinct is about how many different values a segment of so many rows has.
func (b *builder) distinct(rows int64) int64 {
	if b.run.n == rows {
		return rows
	}
	b.settle()
	return b.sketch.Estimate()
}
