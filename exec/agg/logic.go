package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// logic is bool_and (every) and bool_or: 0 no row yet, 1 false, 2 true.
type logic struct {
	and bool
	v   []uint8
}

func (l *logic) Resize(groups int) { l.v = grown(l.v, groups) }

func (l *logic) put(g uint32, b bool) {
	switch x := uint8(1); {
	case b:
		x = 2
		fallthrough
	default:
		if l.v[g] == 0 || l.and && x < l.v[g] || !l.and && x > l.v[g] {
			l.v[g] = x
		}
	}
}

// done returns the state that no row changes any more.
func (l *logic) done() uint8 {
	if l.and {
		return 1
	}
	return 2
}

func (l *logic) Update(groups []uint32, args []arrow.Array) error {
	a, ok := args[0].(*array.Boolean)
	if !ok {
		return pgerr.Internal("bool aggregate of %s", args[0].DataType())
	}
	if len(groups) > 0 && l.v[groups[0]] == l.done() && same(groups) {
		return nil
	}
	for i, g := range groups {
		if !a.IsNull(i) {
			l.put(g, a.Value(i))
		}
	}
	return nil
}

// UpdateList implements Lister.
func (l *logic) UpdateList(g uint32, rows []int32, n int, args []arrow.Array) error {
	a, ok := args[0].(*array.Boolean)
	if !ok {
		return pgerr.Internal("bool aggregate of %s", args[0].DataType())
	}
	for i := 0; i < n && l.v[g] != l.done(); i++ {
		at := i
		if rows != nil {
			at = int(rows[i])
		}
		if !a.IsNull(at) {
			l.put(g, a.Value(at))
		}
	}
	return nil
}

func (l *logic) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		if b := state; len(b) == 1 && b[0] > 0 {
			l.put(g, b[0] == 2)
		}
	}
	return nil
}

func (l *logic) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return append(dst, l.v[g]), true }), nil
}

func (l *logic) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Bool, from, to, func(g int) (types.Datum, error) {
		if l.v[g] == 0 {
			return nil, nil
		}
		return l.v[g] == 2, nil
	})
}

func (l *logic) Bytes() int64 { return int64(cap(l.v)) }

// bitwise is bit_and, bit_or and bit_xor.
type bitwise struct {
	op  byte // 'a', 'o', 'x'
	typ types.Type
	v   []int64
	has []bool
}

func (b *bitwise) Resize(groups int) { b.v, b.has = grown(b.v, groups), grown(b.has, groups) }

func (b *bitwise) put(g uint32, x int64) {
	switch {
	case !b.has[g]:
		b.v[g], b.has[g] = x, true
	case b.op == 'a':
		b.v[g] &= x
	case b.op == 'o':
		b.v[g] |= x
	default:
		b.v[g] ^= x
	}
}

func (b *bitwise) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Int16:
		putBits(b, groups, a.Int16Values(), a)
	case *array.Int32:
		putBits(b, groups, a.Int32Values(), a)
	case *array.Int64:
		putBits(b, groups, a.Int64Values(), a)
	default:
		return pgerr.Internal("bits of %s", args[0].DataType())
	}
	return nil
}

func putBits[T int16 | int32 | int64](b *bitwise, groups []uint32, vals []T, arr arrow.Array) {
	batch.ValidRuns(arr, func(from, to int) {
		for i, v := range vals[from:to] {
			b.put(groups[from+i], int64(v))
		}
	})
}

func (b *bitwise) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		v, _, err := getU64(state)
		if err != nil {
			return err
		}
		b.put(g, int64(v))
	}
	return nil
}

func (b *bitwise) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		for i := 0; i < 8; i++ {
			dst = append(dst, byte(uint64(b.v[g])>>(8*i)))
		}
		return dst, b.has[g]
	}), nil
}

func (b *bitwise) Results(from, to int) (arrow.Array, error) {
	return datumColumn(b.typ, from, to, func(g int) (types.Datum, error) {
		if !b.has[g] {
			return nil, nil
		}
		return b.v[g], nil
	})
}

func (b *bitwise) Bytes() int64 { return int64(cap(b.v)) * 9 }
