package kernel

import (
	"bytes"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Match keeps those pairs, which are positions in rows and ids, for which row rows[p] of arr equals
// row ids[p] of the column. It filters pairs in place. NULL equals NULL where nullSafe is set, else
// nothing. arr and the column must have the same representation (the same type but for modifiers).
func (c *Column) Match(arr arrow.Array, rows []int32, ids []uint32, nullSafe bool, pairs []int32) []int32 {
	if c.lay == layNull || len(c.chunks) == 0 || arr.DataType().ID() == arrow.NULL {
		out := pairs[:0]
		for _, p := range pairs {
			if nullSafe && arr.IsNull(int(rows[p])) && c.IsNull(ids[p]) {
				out = append(out, p)
			}
		}
		return out
	}
	if arr.NullN() > 0 || c.nulls {
		return c.matchNulls(arr, rows, ids, nullSafe, pairs)
	}
	return c.matchValues(arr, rows, ids, pairs)
}

// matchNulls decides the pairs with a NULL, then leaves the rest to
// matchValues.
func (c *Column) matchNulls(arr arrow.Array, rows []int32, ids []uint32, nullSafe bool, pairs []int32) []int32 {
	both := make([]int32, 0, len(pairs))
	var null []int32
	for _, p := range pairs {
		an, cn := arr.IsNull(int(rows[p])), c.IsNull(ids[p])
		if !an && !cn {
			both = append(both, p)
		} else if nullSafe && an && cn {
			null = append(null, p)
		}
	}
	both = c.matchValues(arr, rows, ids, both)
	// both lists ascend: merge them to keep the order of pairs
	out := pairs[:0]
	for i, j := 0, 0; i < len(both) || j < len(null); {
		if j == len(null) || i < len(both) && both[i] < null[j] {
			out = append(out, both[i])
			i++
		} else {
			out = append(out, null[j])
			j++
		}
	}
	return out
}

func (c *Column) matchValues(arr arrow.Array, rows []int32, ids []uint32, pairs []int32) []int32 {
	d := arr.Data()
	switch c.lay {
	case layBit:
		a := arr.(*array.Boolean)
		out := pairs[:0]
		for _, p := range pairs {
			id := ids[p]
			if a.Value(int(rows[p])) == c.bits[id>>chunkShift].get(id&chunkMask) {
				out = append(out, p)
			}
		}
		return out
	case layFixed:
		switch {
		case c.Type.Form() == types.FormFloat64:
			return matchFloats(array.NewFloat64Data(d).Float64Values(), c.v8, rows, ids, pairs)
		case c.Type.Form() == types.FormFloat32:
			return matchBy(pairs, func(p int32) bool {
				id := ids[p]
				return floatKey32(arr.(*array.Float32).Value(int(rows[p]))) == floatKey32(values[float32](c.chunks[id>>chunkShift].Data())[id&chunkMask])
			})
		case c.Type.Class() == types.ClassInterval:
			return c.matchKeys(arr, rows, ids, pairs)
		case c.width == 8:
			return matchFixed(values[uint64](d), c.v8, rows, ids, pairs)
		case c.width == 4:
			return matchFixed(values[uint32](d), c.v4, rows, ids, pairs)
		case c.width == 2:
			return matchFixed(values[uint16](d), c.v2, rows, ids, pairs)
		case c.width == 1:
			return matchFixed(values[uint8](d), c.v1, rows, ids, pairs)
		case c.width == 12:
			return matchFixed(values[bytes12](d), c.v12, rows, ids, pairs)
		case c.width == 16:
			return matchFixed(values[bytes16](d), c.v16, rows, ids, pairs)
		}
	case layVar:
		if c.Type.OID == types.JSONBOID {
			return c.matchKeys(arr, rows, ids, pairs)
		}
		return c.matchStrings(arr, rows, ids, pairs)
	}
	return c.matchKeys(arr, rows, ids, pairs)
}

func matchBy(pairs []int32, same func(p int32) bool) []int32 {
	out := pairs[:0]
	for _, p := range pairs {
		if same(p) {
			out = append(out, p)
		}
	}
	return out
}

// matchFixed is branch-free: every pair is written and the end advances on a match.
func matchFixed[T comparable](src []T, chunks [][]T, rows []int32, ids []uint32, pairs []int32) []int32 {
	n := 0
	for _, p := range pairs {
		id := ids[p]
		pairs[n] = p
		if src[rows[p]] == chunks[id>>chunkShift][id&chunkMask] {
			n++
		}
	}
	return pairs[:n]
}

func matchFloats(src []float64, chunks [][]uint64, rows []int32, ids []uint32, pairs []int32) []int32 {
	out := pairs[:0]
	for _, p := range pairs {
		id := ids[p]
		b := f64(chunks[id>>chunkShift][id&chunkMask])
		a := src[rows[p]]
		if a == b || a != a && b != b {
			out = append(out, p)
		}
	}
	return out
}

func (c *Column) matchStrings(arr arrow.Array, rows []int32, ids []uint32, pairs []int32) []int32 {
	d := arr.Data()
	if dict := dictOf(arr); dict != nil {
		index := values[int32](d)
		out := pairs[:0]
		offs, data := offsets(dict), bytesOf(dict)
		if c.dictSame && c.dict == dict {
			for _, p := range pairs {
				id, k := ids[p], index[rows[p]]
				// A dictionary may have a value twice: CASE WHEN … THEN 'a' WHEN … THEN 'b' ELSE 'a' END.
				if s := &c.strs[id>>chunkShift]; k == s.index[id&chunkMask] || c.same(data[offs[k]:offs[k+1]], s.at(id&chunkMask)) {
					out = append(out, p)
				}
			}
			return out
		}
		if memo := newMatchMemo(dict.Len(), ids, pairs); memo != nil {
			for _, p := range pairs {
				id, k := ids[p], index[rows[p]]
				m := &memo.seen[int(id)*memo.width+int(k)]
				if *m == 0 {
					*m = 1
					if c.same(data[offs[k]:offs[k+1]], c.strs[id>>chunkShift].at(id&chunkMask)) {
						*m = 2
					}
				}
				if *m == 2 {
					out = append(out, p)
				}
			}
			return out
		}
		for _, p := range pairs {
			id, k := ids[p], index[rows[p]]
			if c.same(data[offs[k]:offs[k+1]], c.strs[id>>chunkShift].at(id&chunkMask)) {
				out = append(out, p)
			}
		}
		return out
	}
	offs, data := offsets(d), bytesOf(d)
	out := pairs[:0]
	for _, p := range pairs {
		id, r := ids[p], rows[p]
		if c.same(data[offs[r]:offs[r+1]], c.strs[id>>chunkShift].at(id&chunkMask)) {
			out = append(out, p)
		}
	}
	return out
}

// same reports whether two values of the column, strings or numerics, are equal.
func (c *Column) same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if c.Type.OID == types.NumericOID {
		return number.CompareDecimalBytes(a, b) == 0
	}
	return !c.Type.EqualByBytes() && bytes.Equal(types.Compared(c.Type, a), types.Compared(c.Type, b))
}

// matchMemo caches comparisons of a dictionary's value with a row: 0 not done yet, 1 different, 2
// equal. Few groups and few values, as in reports, are compared once.
type matchMemo struct {
	seen  []uint8
	width int
}

// newMatchMemo makes a memo where that is small beside the pairs, else nil.
func newMatchMemo(values int, ids []uint32, pairs []int32) *matchMemo {
	most := uint32(0)
	for _, p := range pairs {
		most = max(most, ids[p])
	}
	if (int64(most)+1)*int64(values) > int64(len(pairs)) {
		return nil
	}
	return &matchMemo{seen: make([]uint8, (int(most)+1)*values), width: values}
}

// matchKeys compares by the ordering key: jsonb, intervals, arrays, records.
func (c *Column) matchKeys(arr arrow.Array, rows []int32, ids []uint32, pairs []int32) []int32 {
	var ka, kb []byte
	return matchBy(pairs, func(p int32) bool {
		id := ids[p]
		ka = AppendKey(ka[:0], c.Type, arr, int(rows[p]))
		kb = AppendKey(kb[:0], c.Type, c.chunks[id>>chunkShift], int(id&chunkMask))
		return bytes.Equal(ka, kb)
	})
}
