package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/sql/types"
)

// BenchmarkView reads all rows of a leaf of 28 float4 columns, chunk by chunk.
func BenchmarkView(b *testing.B) {
	const rows, d = 32768, 28
	cols, arrs := make([]Column, d), make([]arrow.Array, d)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range d {
		cols[i] = Column{fmt.Sprint("x", i), types.Float4}
		v := make([]float32, rows)
		for j := range v {
			v[j] = r.Float32()
		}
		arrs[i] = batch.FromSlice(arrow.PrimitiveTypes.Float32, v, nil)
	}
	layout, _ := NewLayout(cols)
	s := NewStore(layout, Config{Pool: mem.NewPool("b", 0)})
	defer s.Close()
	if err := s.Add(context.Background(), batch.New(arrs, rows)); err != nil {
		b.Fatal(err)
	}
	if err := s.Finish(); err != nil {
		b.Fatal(err)
	}
	l, err := s.MakeLeaf(context.Background(), 0, block.Buckets)
	if err != nil {
		b.Fatal(err)
	}
	var buf [ViewRows]float64
	b.SetBytes(rows * d * 4)
	for b.Loop() {
		v, err := l.Open()
		if err != nil {
			b.Fatal(err)
		}
		for from := 0; from < rows; from += ViewRows {
			for c := range d {
				v.Numbers(c, from, buf[:])
			}
		}
		v.Close()
	}
}
