package cast

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/types"
)

// arrayParse reads arrays from texts: the elements of all rows become one column of texts, which is cast as any other.
// Where some text is no array, or a row's error makes it NULL, the rows are read one by one, so that the first error counts.
func arrayParse(to types.Type) function.Impl {
	byRow := parseAs[types.Datum](to)
	texts, _ := types.ArrayOf(types.Text)
	elems, err := arrayCast(texts, to, true)
	if err != nil || to.Prec > 0 || to.OID == types.Int2VectorOID || to.OID == types.OIDVectorOID {
		return byRow
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		if c.NullOn == nil {
			if v := arrayTexts(c, args[0], texts); v != nil {
				if elems == nil {
					return v, nil
				}
				inner := *c
				inner.Types, inner.Valid = []types.Type{texts}, v.Valid
				if v, err := elems(&inner, []*vector.Vec{v}); err == nil {
					return v, nil
				}
			}
		}
		return byRow(c, args)
	}
}

// arrayTexts takes arrays apart into the texts of their elements; nil where some row is no array.
func arrayTexts(c *function.Call, v *vector.Vec, t types.Type) *vector.Vec {
	m, size := c.Meter(), 0
	if v.Kind == vector.Str {
		size = int(v.Off[c.N] - v.Off[0])
	} else {
		for i := range c.N {
			if !c.Skip(i) {
				size += len(v.Str(i))
			}
		}
	}
	// No element is longer than what it is read from, and a comma stands between two.
	data := c.Arena.Fresh().Lasting(size)[:0]
	m.Charge(int64(4 * (c.N + 1)))
	rows, offs := append(make([]int32, 0, c.N+1), 0), []int32{0}
	var nulls []int32
	for i := range c.N {
		if !c.Skip(i) {
			s := v.Str(i)
			err := types.EachArrayWord(s, func(word string, null bool) {
				if null {
					nulls = room(m, nulls)
					nulls = append(nulls, int32(len(offs)-1))
				} else {
					data = append(data, word...)
				}
				offs = append(room(m, offs), int32(len(data)))
			})
			if err != nil {
				return nil
			}
			m.Poll(len(s) + vector.RowWork)
		}
		rows = append(rows, int32(len(offs)-1))
	}
	if vector.TooLarge(c.N, size+4*len(offs)) != nil {
		return nil
	}
	var some []byte
	if len(nulls) > 0 {
		some = batch.AllOnes(len(offs) - 1)
		for _, i := range nulls {
			batch.ClearBit(some, int(i))
		}
	}
	var valid []byte
	if c.Valid != nil {
		valid = append(valid, c.Valid[:batch.BitmapBytes(c.N)]...)
	}
	elems := batch.FromOffsets(arrow.BinaryTypes.String, offs, data, some)
	return vector.FromArrow(c.Arena, kernel.List(t.Arrow(), rows, elems, valid))
}

// room makes room for one more in a slice, and charges for it.
func room(m *vector.Meter, s []int32) []int32 {
	if len(s) < cap(s) {
		return s
	}
	n := max(64, 2*cap(s))
	m.Charge(4 * int64(n))
	return append(make([]int32, 0, n), s...)
}
