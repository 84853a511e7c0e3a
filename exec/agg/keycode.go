package agg

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// keyCode makes keys of the values of a column, and values of keys again.
type keyCode interface {
	// encode appends a key for each row; of NULL it is any.
	encode(col arrow.Array, to []uint64) []uint64
	append(to array.Builder, key uint64)
	// translate makes keys of those of another code of the same type, in their place.
	translate(from keyCode, keys []uint64)
	// ranks are numbers in the order of the values, of the keys that there are now.
	ranks() keyRanks
	// same reports whether values of two ranks are equal.
	same(a, b uint64) bool
	// takes bounds what more bytes the values of a column take; width is about that of a value.
	takes(col arrow.Array) int64
	width() int64
	bytes() int64
}

// keyRanks are the ranks of keys; nil where keys are in order themselves.
type keyRanks struct{ of, back []uint32 }

// by makes ranks of keys.
func (r keyRanks) by(keys []uint64) {
	if r.of != nil {
		for i, k := range keys {
			keys[i] = uint64(r.of[k])
		}
	}
}

// key returns the key of a rank.
func (r keyRanks) key(rank uint64) uint64 {
	if r.back != nil {
		return uint64(r.back[rank])
	}
	return rank
}

// newKeyCode returns nil for types whose values are too long, or do not order as their bytes.
func newKeyCode(t types.Type) keyCode {
	switch t.Class() {
	case types.ClassText:
		if t.OID == types.TextOID || t.OID == types.VarcharOID {
			return newTextKeys()
		}
		return nil
	case types.ClassInteger, types.ClassFloat, types.ClassDate, types.ClassTimestamp, types.ClassTimestamptz:
	case types.ClassNumeric:
		if !t.IsFixed() {
			return nil
		}
	default:
		return nil
	}
	switch t.Arrow().ID() {
	case arrow.INT16:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 { return integerKeys(col.(*array.Int16).Int16Values(), to) },
			func(b array.Builder, v uint64) { b.(*array.Int16Builder).Append(int16(v ^ signBit)) }, false}
	case arrow.INT32:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 { return integerKeys(col.(*array.Int32).Int32Values(), to) },
			func(b array.Builder, v uint64) { b.(*array.Int32Builder).Append(int32(v ^ signBit)) }, false}
	case arrow.INT64:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 { return integerKeys(col.(*array.Int64).Int64Values(), to) },
			func(b array.Builder, v uint64) {
				if b, ok := b.(*array.BinaryBuilder); ok { // of an array, whose numerics are variable
					var room [24]byte
					b.Append(number.DecimalFromInt64(int64(v^signBit), int32(t.Scale)).AppendBinary(room[:0]))
					return
				}
				b.(*array.Int64Builder).Append(int64(v ^ signBit))
			}, false}
	case arrow.DATE32:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 {
			return integerKeys(col.(*array.Date32).Date32Values(), to)
		},
			func(b array.Builder, v uint64) { b.(*array.Date32Builder).Append(arrow.Date32(v ^ signBit)) }, false}
	case arrow.TIMESTAMP:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 {
			return integerKeys(col.(*array.Timestamp).TimestampValues(), to)
		}, func(b array.Builder, v uint64) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(v ^ signBit)) }, false}
	case arrow.FLOAT32:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 {
			return floatKeys(col.(*array.Float32).Float32Values(), to)
		},
			func(b array.Builder, v uint64) { b.(*array.Float32Builder).Append(float32(orderedFloat(v))) }, true}
	case arrow.FLOAT64:
		return numberKeys{func(col arrow.Array, to []uint64) []uint64 {
			return floatKeys(col.(*array.Float64).Float64Values(), to)
		},
			func(b array.Builder, v uint64) { b.(*array.Float64Builder).Append(orderedFloat(v)) }, true}
	}
	return nil
}

// numberKeys are integers of the same order.
type numberKeys struct {
	from   func(col arrow.Array, to []uint64) []uint64
	to     func(b array.Builder, key uint64)
	floats bool
}

func integerKeys[T ~int16 | ~int32 | ~int64](vals []T, to []uint64) []uint64 {
	for _, v := range vals {
		to = append(to, uint64(int64(v))^signBit)
	}
	return to
}

func floatKeys[T float32 | float64](vals []T, to []uint64) []uint64 {
	for _, v := range vals {
		to = append(to, floatOrder(float64(v)))
	}
	return to
}

func (n numberKeys) encode(col arrow.Array, to []uint64) []uint64 { return n.from(col, to) }
func (n numberKeys) append(to array.Builder, key uint64)          { n.to(to, key) }
func (n numberKeys) translate(keyCode, []uint64)                  {}
func (n numberKeys) ranks() keyRanks                              { return keyRanks{} }
func (n numberKeys) takes(arrow.Array) int64                      { return 0 }
func (n numberKeys) width() int64                                 { return 8 }
func (n numberKeys) bytes() int64                                 { return 0 }

// same: the zeros of both signs are equal, and neighbours.
func (n numberKeys) same(a, b uint64) bool {
	return a == b || n.floats && min(a, b) == math.MaxInt64 && max(a, b) == signBit
}

// textKeys are the numbers of texts, in the order in which they came.
type textKeys struct {
	textTable
	order keyRanks // of the first texts

	dict  *array.String // of the batch before
	known []uint32      // of its texts: the number + 1

	others map[*textKeys][]uint32 // likewise, of the texts of those that were merged
	of     *textKeys              // the code whose table is the base

	texts []string // scratch: texts of a batch, and where they are needed
	at    []uint32
}

func newTextKeys() *textKeys { return &textKeys{textTable: textTable{readers: new(atomic.Int32)}} }

// textBytes is what a text takes beside its bytes, while the table grows.
const textBytes = 88

func (t *textKeys) encode(col arrow.Array, to []uint64) []uint64 {
	vals, n := batch.StringsOf(col), len(to)
	nulls := col.NullN() > 0
	t.texts, t.at = t.texts[:0], t.at[:0]
	if vals.Plain != nil {
		to = append(to, make([]uint64, col.Len())...)
		for i := range col.Len() {
			if nulls && col.IsNull(i) {
				continue
			}
			t.texts, t.at = append(t.texts, vals.Plain.Value(i)), append(t.at, uint32(n+i))
		}
		t.number(t.texts, func(i int, k uint32) { to[t.at[i]] = uint64(k) })
		return to
	}
	if t.dict == nil || t.dict.Data() != vals.Values.Data() {
		t.dict = vals.Values
		t.known = append(t.known[:0], make([]uint32, vals.Values.Len())...)
	}
	for i, k := range vals.Index {
		if (!nulls || col.IsValid(i)) && t.known[k] == 0 {
			t.known[k] = math.MaxUint32
			t.texts, t.at = append(t.texts, vals.Values.Value(int(k))), append(t.at, uint32(k))
		}
	}
	t.number(t.texts, func(i int, k uint32) { t.known[t.at[i]] = k + 1 })
	for i, k := range vals.Index {
		if nulls && col.IsNull(i) {
			to = append(to, 0)
			continue
		}
		to = append(to, uint64(t.known[k]-1))
	}
	return to
}

func (t *textKeys) append(to array.Builder, key uint64) {
	to.(*array.StringBuilder).Append(t.text(key))
}

func (t *textKeys) translate(from keyCode, keys []uint64) {
	o := from.(*textKeys)
	if o == t || t.goesOn(o) {
		return
	}
	if t.others == nil {
		t.others = map[*textKeys][]uint32{}
	}
	known := t.others[o]
	if len(known) != o.n() {
		known = grown(known, o.n())
		t.others[o] = known
	}
	t.room, t.at = t.room[:0], t.at[:0]
	for _, k := range keys {
		if known[k] == 0 {
			t.room, t.at = append(t.room, o.hash(k)), append(t.at, uint32(k))
		}
	}
	t.reserve(t.room)
	for i, k := range t.at {
		known[k] = t.adopt(o, uint64(k), t.room[i]) + 1
	}
	for i, k := range keys {
		keys[i] = uint64(known[k] - 1)
	}
}

// goesOn reports whether the numbers of another code's texts are also t's.
func (t *textKeys) goesOn(o *textKeys) bool { return t.of != nil && t.of == o }

// goOn makes them so, if t has no texts.
func (t *textKeys) goOn(o *textKeys) {
	if t.n() == 0 && t.base == nil && o.base == nil {
		t.rest(&o.textTable)
		t.of = o
	}
}

func (t *textKeys) ranks() keyRanks {
	if len(t.order.of) != t.n() {
		back := make([]uint32, t.n())
		for i := range back {
			back[i] = uint32(i)
		}
		slices.SortFunc(back, func(a, b uint32) int { return strings.Compare(t.text(uint64(a)), t.text(uint64(b))) })
		of := make([]uint32, len(back))
		for rank, k := range back {
			of[k] = uint32(rank)
		}
		t.order = keyRanks{of, back}
	}
	return t.order
}

func (t *textKeys) same(a, b uint64) bool { return a == b }

func (t *textKeys) takes(col arrow.Array) int64 {
	if d, ok := col.(*array.Dictionary); ok {
		if t.dict != nil && t.dict.Data() == d.Dictionary().Data() {
			return 0
		}
		col = d.Dictionary()
	}
	return batch.ArrayBytes(col) + textBytes*int64(col.Len())
}

func (t *textKeys) width() int64 { return t.length/int64(max(t.n(), 1)) + 8 }

func (t *textKeys) bytes() int64 {
	n := t.textTable.bytes() + 4*int64(cap(t.known)+cap(t.at)+len(t.order.of)+len(t.order.back)) + 16*int64(cap(t.texts))
	for _, known := range t.others {
		n += 4 * int64(cap(known))
	}
	return n
}
