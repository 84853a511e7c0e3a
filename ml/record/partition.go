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
	// Whole keeps partitions together, as those who compare rows of one want them: their rows are
	// not windows, a partition is held out as a whole, and View.Windows are the partitions' first rows.
	// Length and Stride are 1.
	Whole bool
}

// Check reports whether rows of this layout can be distributed so: 0A000 for a column
// whose values have no order of their bytes or numbers.
func (w *Windows) Check(l *Layout) error {
	for _, c := range w.Partition {
		if t := l.Cols[c].Type; !l.orders(c) && !(t.IsString() && t.OID >= types.FirstUserOID) { // an enum
			return pgerr.Unsupported("rows cannot be partitioned by column %q of this type", l.Cols[c].Name).OnColumn(l.Cols[c].Name)
		}
	}
	for _, c := range w.Order {
		if !l.orders(c) {
			return pgerr.Unsupported("windows cannot be ordered by column %q of this type", l.Cols[c].Name).OnColumn(l.Cols[c].Name)
		}
	}
	return nil
}

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

// compareOrder compares what rows of a partition are ordered by.
func (l *Layout) compareOrder(a, b []byte, cols []int) int {
	for _, c := range cols {
		if d := l.compareValues(a, b, c); d != 0 {
			return d
		}
	}
	return 0
}

func errPartitionNull(c Column) error {
	return pgerr.New(pgerr.NullValueNotAllowed, "column %q, which says what rows belong together, contains NULL", c.Name).OnColumn(c.Name).
		WithHint("Leave these rows out: WHERE %q IS NOT NULL.", c.Name)
}

func errOrderNull(c Column) error {
	return pgerr.New(pgerr.NullValueNotAllowed, "column %q, by which windows are ordered, contains NULL", c.Name).OnColumn(c.Name).
		WithHint("Leave these rows out: WHERE %q IS NOT NULL.", c.Name)
}
