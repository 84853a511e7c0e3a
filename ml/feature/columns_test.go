package feature

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/numbering"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRowsAreEncodedAloneAsTogether encodes batches of float4 columns, for whole tiles of which
// there is a separate loop, and each row by itself, into new blocks and reused ones.
func TestRowsAreEncodedAloneAsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), -7}
	var again *block.Block
	for round := range 60 {
		const d = 5
		f := &Fitted{Narrow: true}
		for j := range d {
			c := FitCol{Column: record.Column{Type: types.Float4}, Encoder: Plain, Fill: 2}
			if round%2 == 0 && j > 0 {
				c.Encoder, c.Center, c.Scale = Standard, []float64{0.3 * float64(j)}, []float64{1.7}
			}
			f.Cols = append(f.Cols, c)
		}
		f.count()
		n := 1 + r.IntN(700)
		cols, vals := make([]arrow.Array, d), make([][]float32, d)
		for j := range cols {
			vals[j] = make([]float32, n)
			for i := range vals[j] {
				vals[j][i] = float32(r.NormFloat64())
				if round%3 == 0 && r.IntN(300) == 0 {
					vals[j][i] = odd[r.IntN(len(odd))]
				}
			}
			cols[j] = batch.FromSlice(arrow.PrimitiveTypes.Float32, vals[j], nil)
		}
		b, err := f.EncodeInto(again, cols, n)
		if err != nil {
			t.Fatal(err)
		}
		again = b
		if b.Rows != n || b.Padded() < n || b.Padded() > n+7 {
			t.Fatalf("a block of %d rows, %d with the last tile, for %d", b.Rows, b.Padded(), n)
		}
		for i := range b.Padded() {
			if i >= n {
				for j := range d {
					if b.Value(i, j) != 0 {
						t.Fatalf("%d rows: the last tile is filled up with %v", n, b.Value(i, j))
					}
				}
				continue
			}
			one := make([]arrow.Array, d)
			for j := range one {
				one[j] = batch.FromSlice(arrow.PrimitiveTypes.Float32, vals[j][i:i+1], nil)
			}
			alone, err := f.EncodeColumns(one, 1)
			if err != nil {
				t.Fatal(err)
			}
			for j := range d {
				if got, want := b.Value(i, j), alone.Value(0, j); math.Float64bits(got) != math.Float64bits(want) {
					t.Fatalf("row %d column %d of %v is %v, alone %v", i, j, vals[j][i], got, want)
				}
			}
		}
	}
}

// TestCodesOfNumbersAreCached: categories that are integers, many of which collide in the cache of
// codes, and NULLs, have the codes that a look-up of each row returns.
func TestCodesOfNumbersAreCached(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for _, spread := range []int64{1, 3, 64, 1000} {
		vals, valid := make([]int64, 3000), make([]byte, 3000/8)
		for i := range vals {
			if vals[i] = (r.Int64N(2*spread) - spread) * []int64{1, 64}[r.IntN(2)]; r.IntN(7) > 0 {
				valid[i/8] |= 1 << (i % 8)
			}
		}
		small := make([]int32, len(vals))
		for i, v := range vals {
			small[i] = int32(v)
		}
		src := &columns{cols: []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, vals, valid), batch.FromSlice(arrow.PrimitiveTypes.Int32, small, nil)},
			typ: []types.Type{types.Int8, types.Int4}}
		for c := range src.cols {
			var seen, all numbering.Keys
			find := func(n *numbering.Keys) func([]byte) int32 {
				return func(key []byte) int32 {
					if key == nil {
						return -1
					}
					return n.Number(key)
				}
			}
			code, slow := src.codes(c, find(&seen)), find(&all)
			for i := range vals {
				if got, want := code(i), slow(src.Bytes(c, i)); got != want {
					t.Fatalf("row %d of column %d has code %d, want %d", i, c, got, want)
				}
			}
		}
	}
}
