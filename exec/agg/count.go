package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"encoding/binary"

	"github.com/tributarydb/tributary/exec/batch"
)

// count is count(*) and count(x).
type count struct {
	star bool
	n    []int64
}

func (c *count) Resize(groups int) { c.n = grown(c.n, groups) }

func (c *count) Update(groups []uint32, args []arrow.Array) error {
	count := func(groups []uint32) {
		for _, g := range groups {
			c.n[g]++
		}
	}
	if c.star {
		count(groups)
	} else if d := args[0].Data(); d.NullN() > args[0].Len()/16 && len(d.Buffers()) > 0 && d.Buffers()[0] != nil {
		// runs between NULLs are short
		b, off := d.Buffers()[0].Bytes(), d.Offset()
		for i, g := range groups {
			at := off + i
			c.n[g] += int64(b[at>>3] >> (at & 7) & 1)
		}
	} else {
		batch.ValidRuns(args[0], func(from, to int) { count(groups[from:to]) })
	}
	return nil
}

func (c *count) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		v, _, err := getU64(state)
		if err != nil {
			return err
		}
		c.n[g] += int64(v)
	}
	return nil
}

func (c *count) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		return binary.LittleEndian.AppendUint64(dst, uint64(c.n[g])), true
	}), nil
}

func (c *count) Results(from, to int) (arrow.Array, error) {
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, append([]int64(nil), c.n[from:to]...), nil), nil
}

func (c *count) Bytes() int64 { return int64(cap(c.n)) * 8 }
