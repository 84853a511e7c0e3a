package kernel_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// TestPack: packed words are equal for equal rows, whatever form the columns have; they hash as the
// rows do and unpack to them. So do the words of another packer after translation.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	for round := range 60 {
		ts := make([]types.Type, 1+r.Intn(4))
		for k := range ts {
			ts[k] = all[(round+k*r.Intn(len(all)))%len(all)]
		}
		p, other, h := kernel.NewPacker(ts), kernel.NewPacker(ts), kernel.NewHasher(ts)
		var rows [][]types.Datum
		var words []uint64
		for piece := range 4 {
			n := 1 + r.Intn(60)
			cols := make([]arrow.Array, len(ts))
			vals := make([][]types.Datum, len(ts))
			for k, ty := range ts {
				var arr arrow.Array
				vals[k], arr = column(t, r, ty, n)
				fs := forms(arr)
				cols[k] = fs[r.Intn(len(fs))]
			}
			for i := range n {
				row := make([]types.Datum, len(ts))
				for k := range ts {
					row[k] = vals[k][i]
				}
				rows = append(rows, row)
			}
			from := p
			if piece == 3 {
				from = other
			}
			w, hashes := from.Pack(cols, n, nil, nil)
			if want := h.Hash(cols, n, nil); !slices.Equal(hashes, want) {
				t.Fatalf("%v: Pack hashes differently", ts)
			}
			if got := from.Hash(w, nil); !slices.Equal(got, hashes) {
				t.Fatalf("%v: Hash gives other hashes than Pack", ts)
			}
			if piece == 3 {
				p.Translate(other, w)
			}
			words = append(words, w...)
		}
		width := p.Words()
		for i := range rows {
			for j := range rows[:i] {
				same := true
				for k, ty := range ts {
					a, b := rows[i][k], rows[j][k]
					same = same && (a == nil && b == nil || a != nil && b != nil && types.Compare(ty, a, b) == 0)
				}
				if got := slices.Equal(words[i*width:(i+1)*width], words[j*width:(j+1)*width]); got != same {
					t.Fatalf("%v: rows %v and %v: equal words %v, want %v", ts, rows[i], rows[j], got, same)
				}
			}
		}
		gone := r.Intn(len(ts))
		for k, ty := range ts {
			arr := p.Unpack(k, words)
			for i := range rows {
				got := types.DatumAt(ty, arr, i)
				if (got == nil) != (rows[i][k] == nil) || got != nil && types.Compare(ty, got, rows[i][k]) != 0 {
					t.Fatalf("%s: %v comes back as %v", ty, rows[i][k], got)
				}
			}
		}
		p.Clear(gone, words)
		for k := range ts {
			if arr := p.Unpack(k, words); k == gone && arr.NullN() != len(rows) {
				t.Fatalf("%s: %d NULLs of %d", ts[k], arr.NullN(), len(rows))
			}
		}
	}
}
