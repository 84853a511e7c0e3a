package record

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRowsAreCompressed: rows in the file take less space than in memory, and are read back
// unchanged: rows of one length, of many, and longer than the unit of compression.
func TestRowsAreCompressed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		name  string
		text  func(i int) string // nil: no text column
		share float64            // largest size allowed, as a share of the size in memory
	}{
		{"numbers", nil, 0.55}, // the hashes of rows do not compress
		{"texts", func(i int) string { return fmt.Sprint("station ", i%7) }, 0.8},
		{"long texts", func(i int) string { return string(bytes.Repeat([]byte{byte('a' + i%20)}, i%3*packChunk)) }, 0.05},
		{"random texts", func(int) string {
			b := make([]byte, 300)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return string(b)
		}, 1.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			cols := []Column{{"x", types.Float8}, {"n", types.Int8}, {"k", types.Int4}}
			n := 40000
			if c.text != nil {
				cols, n = append(cols, Column{"s", types.Bytea}), 2000
			}
			l, err := NewLayout(cols)
			if err != nil {
				t.Fatal(err)
			}
			x, k8, k4, texts := make([]float64, n), make([]int64, n), make([]int32, n), make([][]byte, n)
			for i := range n {
				x[i], k8[i], k4[i] = float64(r.IntN(1000))/8, int64(i), int32(r.IntN(5))
				if c.text != nil {
					texts[i] = []byte(c.text(i))
				}
			}
			var want [][]byte
			for _, spilled := range []bool{false, true} {
				s := NewStore(l, Config{Pool: mem.NewPool("node", 0), Temp: t.TempDir(), Seed: 1, Leaves: 64})
				for from := 0; from < n; from += 500 {
					arrs := []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, x[from:from+500], nil),
						batch.FromSlice(arrow.PrimitiveTypes.Int64, k8[from:from+500], nil), batch.FromSlice(arrow.PrimitiveTypes.Int32, k4[from:from+500], nil)}
					if c.text != nil {
						b := array.NewBinaryBuilder(memory.DefaultAllocator, types.Bytea.Arrow().(arrow.BinaryDataType))
						for _, text := range texts[from : from+500] {
							b.Append(text)
						}
						arrs = append(arrs, b.NewArray())
					}
					if err := s.Add(context.Background(), batch.New(arrs, 500)); err != nil {
						t.Fatal(err)
					}
				}
				if spilled {
					if err := s.spill(s.shards...); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Finish(); err != nil {
					t.Fatal(err)
				}
				var got [][]byte
				size := 0
				for leaf := range 64 {
					from, to := LeafBuckets(leaf, 64)
					l, err := s.MakeLeaf(context.Background(), from, to)
					if err != nil {
						t.Fatal(err)
					}
					v, err := l.Open()
					if err != nil {
						t.Fatal(err)
					}
					for i := range v.Rows {
						rec := bytes.Clone(v.layout.whole(v.rec(i)))
						got, size = append(got, rec), size+len(rec)
					}
					v.Close()
				}
				slices.SortFunc(got, bytes.Compare)
				if want == nil {
					want = got
				} else if !slices.EqualFunc(got, want, bytes.Equal) {
					t.Error("other rows come from the file")
				}
				if share := float64(s.OnDisk()) / float64(size); spilled && (share > c.share || s.OnDisk() == 0) {
					t.Errorf("rows of %d bytes take %.2f of that in the file", size, share)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if used := s.cfg.Pool.Used(); used != 0 {
					t.Errorf("%d bytes are still charged", used)
				}
			}
		})
	}
}
