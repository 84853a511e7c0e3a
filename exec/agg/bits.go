package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// bitStrings is bit_and, bit_or and bit_xor of bit strings, which are of one
// length.
type bitStrings struct {
	op   byte // 'a', 'o', 'x'
	v    [][]byte
	held int64
}

func (b *bitStrings) Resize(groups int) { b.v = grown(b.v, groups) }

func (b *bitStrings) put(g uint32, x string) error {
	cur := b.v[g]
	if cur == nil {
		b.v[g] = append([]byte{}, x...)
		b.held += int64(len(x))
		return nil
	}
	if len(cur) != len(x) {
		word := map[byte]string{'a': "AND", 'o': "OR", 'x': "XOR"}[b.op]
		return pgerr.New(pgerr.StringDataLengthMismatch, "cannot %s bit strings of different sizes", word)
	}
	for i, c := range cur { // of '0' and '1'
		switch b.op {
		case 'a':
			cur[i] = c & x[i]
		case 'o':
			cur[i] = c | x[i]
		default:
			cur[i] = '0' | (c ^ x[i])
		}
	}
	return nil
}

func (b *bitStrings) Update(groups []uint32, args []arrow.Array) error {
	s := batch.StringsOf(args[0])
	for i, g := range groups {
		if s.IsNull(i) {
			continue
		}
		if err := b.put(g, s.Value(i)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bitStrings) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		if err := b.put(g, string(state)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bitStrings) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return append(dst, b.v[g]...), b.v[g] != nil }), nil
}

func (b *bitStrings) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.Type{OID: types.BitOID, Mod: -1}, from, to, func(g int) (types.Datum, error) {
		if b.v[g] == nil {
			return nil, nil
		}
		return string(b.v[g]), nil
	})
}

func (b *bitStrings) Bytes() int64 { return int64(cap(b.v))*24 + b.held }
