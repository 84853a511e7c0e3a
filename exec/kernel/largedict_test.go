package kernel_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// TestLargeDictionary: a dictionary far larger than each batch has the hashes and numbers of its texts, before it pays to
// look all of them up and after.
func TestLargeDictionary(t *testing.T) {
	const entries, rows = 20_000, 100
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range entries {
		b.Append(fmt.Sprintf("a text of some length, number %d", i))
	}
	values := b.NewStringArray()
	ts := []types.Type{types.Text, types.Int4}
	dict, plain := kernel.NewPacker(ts), kernel.NewPacker(ts)
	h := kernel.NewHasher(ts[:1])
	r := rand.New(rand.NewSource(9))
	same := map[uint64]uint64{} // words of one packer by those of the other
	for n := range 80 {
		idx, small := make([]int32, rows), make([]int32, rows)
		for i := range idx {
			idx[i] = int32(r.Intn(entries) * r.Intn(2))
		}
		var valid []byte
		if n%3 == 0 {
			valid = batch.AllOnes(rows)
			batch.ClearBit(valid, 7)
		}
		col := batch.FromIndices(types.DictArrow, idx, valid, values)
		number := batch.FromSlice(arrow.PrimitiveTypes.Int32, small, nil)
		words, hashes := dict.Pack([]arrow.Array{col, number}, rows, nil, nil)
		words2, hashes2 := plain.Pack([]arrow.Array{kernel.Flatten(col), number}, rows, nil, nil)
		first, second := h.Hash([]arrow.Array{col}, rows, nil), kernel.NewHasher(ts[:1]).Hash([]arrow.Array{kernel.Flatten(col)}, rows, nil)
		for i := range rows {
			w, w2 := words[i*dict.Words()], words2[i*plain.Words()]
			if was, ok := same[w]; ok && was != w2 || hashes[i] != hashes2[i] || first[i] != second[i] {
				t.Fatalf("batch %d, row %d: words %x and %x, hashes %x and %x", n, i, w, w2, hashes[i], hashes2[i])
			}
			same[w] = w2
		}
	}
}
