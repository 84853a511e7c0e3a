package agg

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/sketch"
	"github.com/tributarydb/tributary/sql/types"
)

// approxDistinct is approx_count_distinct: a sketch of the values' hashes, which is the same in
// whatever order they come.
type approxDistinct struct {
	hasher *kernel.Hasher
	hashes []uint64
	of     []*sketch.Sketch // nil: no value yet
	made   int64
}

func newApproxDistinct(t types.Type) *approxDistinct {
	return &approxDistinct{hasher: kernel.NewHasher([]types.Type{t})}
}

func (a *approxDistinct) Resize(groups int) { a.of = grown(a.of, groups) }

func (a *approxDistinct) sketch(g uint32) *sketch.Sketch {
	if a.of[g] == nil {
		a.of[g] = &sketch.Sketch{}
		a.made++
	}
	return a.of[g]
}

func (a *approxDistinct) Update(groups []uint32, args []arrow.Array) error {
	a.hashes = a.hasher.Hash(args, len(groups), a.hashes)
	batch.ValidRuns(args[0], func(from, to int) {
		for i := from; i < to; i++ {
			a.sketch(groups[i]).AddHash(a.hashes[i])
		}
	})
	return nil
}

func (a *approxDistinct) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		if !a.sketch(g).Merge(state) {
			return badState()
		}
	}
	return nil
}

func (a *approxDistinct) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		if a.of[g] == nil {
			return dst, false
		}
		return a.of[g].Append(dst), true
	}), nil
}

func (a *approxDistinct) Results(from, to int) (arrow.Array, error) {
	out := make([]int64, to-from)
	for i := range out {
		if s := a.of[from+i]; s != nil {
			out[i] = s.Estimate()
		}
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, nil), nil
}

func (a *approxDistinct) Bytes() int64 {
	return int64(cap(a.of))*8 + int64(cap(a.hashes))*8 + a.made*sketch.Bytes
}
