package kernel

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// TestInternedBytes: what is told of an interner is all that it holds, its scratch too.
func TestInternedBytes(t *testing.T) {
	p := NewPacker([]types.Type{types.Text})
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range ChunkRows {
		b.Append(fmt.Sprint("value ", i%(ChunkRows/2)))
	}
	col := b.NewArray()
	p.Pack([]arrow.Array{col}, ChunkRows, nil, nil)
	in := p.fields[0].in
	held := in.bytes + 8*int64(cap(in.hashes)+len(in.slots)+cap(in.probes))
	for _, s := range [][]uint32{in.ids, in.known, in.at} {
		held += 4 * int64(cap(s))
	}
	for _, s := range [][]int32{in.rows, in.pairs, in.fresh, in.misses} {
		held += 4 * int64(cap(s))
	}
	if p.Bytes() < held {
		t.Errorf("%d bytes are told of, %d are held", p.Bytes(), held)
	}
}
