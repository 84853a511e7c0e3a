package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// numericExtreme is min and max of variable numerics, which anyExtreme would put
// into an interface each. Of equal ones of several scales the first stays.
type numericExtreme struct {
	max bool
	v   []number.Decimal
	has []bool
}

func (e *numericExtreme) Resize(groups int) { e.v, e.has = grown(e.v, groups), grown(e.has, groups) }

func (e *numericExtreme) put(g uint32, d number.Decimal) {
	if e.has[g] {
		if c := d.Cmp(e.v[g]); e.max && c <= 0 || !e.max && c >= 0 {
			return
		}
	}
	e.v[g], e.has[g] = d, true
}

func (e *numericExtreme) Update(groups []uint32, args []arrow.Array) error {
	a, ok := args[0].(*array.Binary)
	if !ok {
		return pgerr.Internal("extreme of %s", args[0].DataType())
	}
	for i, g := range groups {
		if a.IsNull(i) {
			continue
		}
		d, err := number.DecodeDecimal(a.Value(i))
		if err != nil {
			return err
		}
		e.put(g, d)
	}
	return nil
}

func (e *numericExtreme) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		d, err := types.ParseBinary(types.Numeric, state)
		if err != nil {
			return err
		}
		e.put(g, d.(number.Decimal))
	}
	return nil
}

// MergeFrom implements Merger.
func (e *numericExtreme) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*numericExtreme)
	for i, g := range groups {
		if k := ids[i]; o.has[k] {
			e.put(g, o.v[k])
		}
	}
	return nil
}

func (e *numericExtreme) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		return types.AppendBinary(dst, types.Numeric, e.v[g]), e.has[g]
	}), nil
}

func (e *numericExtreme) Results(from, to int) (arrow.Array, error) {
	return numericColumn(from, to, func(g int) bool { return e.has[g] }, func(g int) (number.Decimal, error) { return e.v[g], nil })
}

// Bytes counts numbers of two words.
func (e *numericExtreme) Bytes() int64 { return int64(cap(e.v)) * (25 + 48) }
