package aggregate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// dictRows returns n rows of a text of words, a smallint, a bigint and a date. The text is a
// dictionary column if dict is true.
func dictRows(rnd *rand.Rand, n int, words arrow.Array, from, span int64, nulls, dict bool) []arrow.Array {
	index, small, wide, date := make([]int32, n), make([]int16, n), make([]int64, n), make([]arrow.Date32, n)
	valid := [4][]byte{}
	for i := range n {
		index[i], small[i] = int32(rnd.IntN(words.Len())), int16(rnd.IntN(3))
		wide[i], date[i] = from+rnd.Int64N(span), arrow.Date32(20_000+rnd.IntN(2))
		for k := range valid {
			if nulls && rnd.IntN(20) == 0 {
				if valid[k] == nil {
					valid[k] = batch.AllOnes(n)
				}
				batch.ClearBit(valid[k], i)
			}
		}
	}
	text := batch.FromIndices(types.DictArrow, index, valid[0], words)
	if !dict {
		text = kernel.Flatten(text)
	}
	return []arrow.Array{text, batch.FromSlice(arrow.PrimitiveTypes.Int16, small, valid[1]), batch.FromSlice(arrow.PrimitiveTypes.Int64, wide, valid[2]),
		batch.FromSlice(arrow.FixedWidthTypes.Date32, date, valid[3])}
}

// someWords returns a dictionary of texts, short and long, of which other dictionaries have some too.
func someWords(rnd *rand.Rand) arrow.Array {
	offs, data := []int32{0}, []byte{}
	for k := range 1 + rnd.IntN(80) {
		data = fmt.Appendf(data, "word %0*d", 1+20*(k%2), k+rnd.IntN(2)*200)
		offs = append(offs, int32(len(data)))
	}
	return batch.FromOffsets(arrow.BinaryTypes.String, offs, data, nil)
}

// TestGroupDict: rows of a text and of integers get the group of their key, whether the texts have
// a dictionary, the same as before or another, or have none; the integers leave their range on both
// sides, and sometimes by too far.
func TestGroupDict(t *testing.T) {
	all := []types.Type{types.Text, types.Int2, types.Int8, types.Date}
	coded, far := 0, 0
	seeds := 80
	if testing.Short() {
		seeds = 20
	}
	for seed := range uint64(seeds) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		which := [][]int{{0}, {0, 2}, {2, 0, 3}, {1, 0}, {0, 1, 2, 3}}[seed%5]
		ts := make([]types.Type, len(which))
		for k, w := range which {
			ts[k] = all[w]
		}
		g, want := newGroupTable(ts, nil), map[string]uint32{}
		from, span := []int64{0, -7, -1 << 62, 1<<62 - 100}[rnd.IntN(4)], 1+rnd.Int64N(40)
		words := someWords(rnd)
		for i := range 20 {
			if i%5 == 4 {
				words = someWords(rnd)
			}
			if rnd.IntN(4) == 0 {
				from, span = from-rnd.Int64N(30), span+rnd.Int64N(60)
			}
			if i == 15 && seed%3 == 0 {
				span = 1 << 20
			}
			n := 1 + rnd.IntN(1500)
			cols := dictRows(rnd, n, words, from, span, seed%2 == 0, rnd.IntN(5) > 0)
			keys := make([]arrow.Array, len(which))
			for k, w := range which {
				keys[k] = cols[w]
			}
			for r, group := range g.find(keys, n) {
				key := ""
				for k, c := range keys {
					key += fmt.Sprintf("%v|", types.DatumAt(ts[k], c, r))
				}
				if _, ok := want[key]; !ok {
					want[key] = uint32(len(want))
				}
				if group != want[key] {
					t.Fatalf("seed %d, batch %d: %s is group %d, not %d", seed, i, key, group, want[key])
				}
			}
			if g.n() != len(want) {
				t.Fatalf("seed %d, batch %d: %d groups, not %d", seed, i, g.n(), len(want))
			}
			if g.dict.keys != nil {
				coded++
			}
		}
		if g.dict.far {
			far++
		}
	}
	if coded < seeds*6 || far < seeds/8 {
		t.Errorf("%d of %d batches had codes, %d of %d tables found integers too far from each other", coded, seeds*20, far, seeds)
	}
}
