package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// BenchmarkIntern numbers the strings of batches, with 100,000 different ones.
func BenchmarkIntern(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var batches []arrow.Array
	for range 100 {
		s := array.NewStringBuilder(memory.DefaultAllocator)
		for range ChunkRows {
			s.Append(fmt.Sprintf("id%010d", r.IntN(100000)))
		}
		batches = append(batches, s.NewArray())
	}
	p := NewPacker([]types.Type{types.Text})
	var words, hashes []uint64
	for _, a := range batches {
		words, hashes = p.Pack([]arrow.Array{a}, ChunkRows, words, hashes)
	}
	b.SetBytes(ChunkRows)
	for i := 0; b.Loop(); i++ {
		words, hashes = p.Pack([]arrow.Array{batches[i%len(batches)]}, ChunkRows, words, hashes)
	}
}
