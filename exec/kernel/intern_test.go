package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// TestInternedBytes: the reported size includes everything that an interner allocates, its scratch
// space too.
func TestInternedBytes(t *testing.T) {
	p := NewPacker([]types.Type{types.Text, types.Int2})
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range ChunkRows {
		b.Append(fmt.Sprint("value ", i%(ChunkRows/2)))
	}
	col := b.NewArray()
	p.Pack([]arrow.Array{col, batch.FromSlice(arrow.PrimitiveTypes.Int16, make([]int16, ChunkRows), nil)}, ChunkRows, nil, nil)
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

// TestInternedStrings: equal strings get the same number and different strings different ones, for
// short strings and long ones, all rows or only those that are not NULL, and where the first short string
// comes after long ones.
func TestInternedStrings(t *testing.T) { testStrings(t, types.Text, types.Int2) }

// TestInlinedStrings: likewise the words of an only column, which are as many strings as they come back.
func TestInlinedStrings(t *testing.T) { testStrings(t, types.Text) }

func testStrings(t *testing.T, ts ...types.Type) {
	made := 0
	for _, tc := range []struct {
		name   string
		values int
		nulls  bool
		text   func(i int) string
	}{
		{"alike", 50000, false, func(i int) string { return fmt.Sprintf("id%010d", i) }},
		{"last bytes", 50000, false, func(i int) string { return fmt.Sprintf("%015d", i) }},
		{"first bytes", 4096, false, func(i int) string { return fmt.Sprintf("%04xabcdefgh", i) }},
		{"bits", 1 << 15, false, func(i int) string { return string([]byte{byte(i), 0, 0, 0, 0, 0, 0, 0, byte(i >> 8)}) }},
		{"lengths", 300, false, func(i int) string { return strings.Repeat("\x00", i) }},
		{"with NULLs", 5000, true, func(i int) string { return fmt.Sprint(i) }},
		{"many", 8 * sparseSlots, false, func(i int) string { return fmt.Sprint(i) }},
		{"long, then short", 5000, false, func(i int) string {
			if made++; made > 5*ChunkRows && i%3 == 0 {
				return fmt.Sprint(i)
			}
			return fmt.Sprintf("a string of some length, %d", i)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			p := NewPacker(ts)
			known, byNumber := map[string][2]uint64{}, map[[2]uint64]string{}
			for range max(30, 2*tc.values/(8*ChunkRows)) {
				b := array.NewStringBuilder(memory.DefaultAllocator)
				for range 1 + r.IntN(ChunkRows) {
					if tc.nulls && r.IntN(5) == 0 {
						b.AppendNull()
						continue
					}
					b.Append(tc.text(r.IntN(tc.values)))
				}
				col := b.NewStringArray()
				cols := []arrow.Array{col, batch.FromSlice(arrow.PrimitiveTypes.Int16, make([]int16, col.Len()), nil)}[:len(ts)]
				words, hashes := p.Pack(cols, col.Len(), nil, nil)
				if got := p.Hash(words, nil); !slices.Equal(got, hashes) {
					t.Fatal("hashes of words differ from those of strings")
				}
				back := Flatten(p.Unpack(0, words)).(*array.String)
				for i := range col.Len() {
					var c [2]uint64
					copy(c[:], words[i*p.words:(i+1)*p.words])
					if col.IsNull(i) {
						if c != [2]uint64{} || back.IsValid(i) {
							t.Fatalf("NULL has number %d", c)
						}
						continue
					}
					s := col.Value(i)
					if back.IsNull(i) || back.Value(i) != s {
						t.Fatalf("%q comes back as %q", s, back.Value(i))
					}
					if was, ok := known[s]; ok && was != c {
						t.Fatalf("%q has the numbers %d and %d", s, was, c)
					}
					if of, ok := byNumber[c]; c == [2]uint64{} || ok && of != s {
						t.Fatalf("%q has the number %d of %q", s, c, of)
					}
					known[s], byNumber[c] = c, s
				}
			}
		})
	}
}
