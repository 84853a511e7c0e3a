package feature

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// randomColumn makes n values of type t; one in `nulls` is NULL, or none for 0.
func randomColumn(r *rand.Rand, t types.Type, n, classes, nulls int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	for range n {
		if nulls > 0 && r.IntN(nulls) == 0 {
			b.AppendNull()
			continue
		}
		k := r.IntN(classes)
		switch b := b.(type) {
		case *array.Float32Builder:
			b.Append(float32(r.NormFloat64()) + 3)
		case *array.Float64Builder:
			b.Append(r.NormFloat64() - 2)
		case *array.Int16Builder:
			b.Append(int16(k) - 1)
		case *array.Int32Builder:
			b.Append(int32(k) - 3)
		case *array.BooleanBuilder:
			b.Append(k&1 == 1)
		case *array.StringBuilder:
			b.Append(fmt.Sprint("class ", k))
		}
	}
	return b.NewArray()
}

// TestUnfittedAreTheBlocks: blocks that are made while statistics are still collected, and scaled
// afterwards (unfitted), have the same bits as blocks made by a second reading; so have the
// statistics.
func TestUnfittedAreTheBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	ctx := context.Background()
	made := 0
	for range 300 {
		s := &Spec{Classes: r.IntN(3) > 0, Standardize: r.IntN(2) == 0}
		share := []float64{0, 0, 0.3, 0.999}[r.IntN(4)]
		pick := func(of ...types.Type) types.Type { return of[r.IntN(len(of))] }
		label := pick(types.Float8, types.Int4)
		if s.Classes {
			label = pick(types.Int4, types.Text, types.Bool, types.Int2)
		}
		s.Cols = append(s.Cols, Col{Column: record.Column{Name: "y", Type: label}, Role: Label})
		if r.IntN(4) == 0 {
			s.Cols = append(s.Cols, Col{Column: record.Column{Name: "w", Type: types.Int4}, Role: Weight})
		}
		mixed := r.IntN(3) == 0
		for i := range 1 + r.IntN(20) {
			c := Col{Column: record.Column{Name: fmt.Sprint("x", i), Type: types.Float4}, Role: Feature, NoIndicator: i%2 == 0}
			if mixed {
				c.Type = pick(types.Float4, types.Float8, types.Int2, types.Int4)
			}
			c.Encoder = []Encoder{Auto, Auto, MinMax, MaxAbs, Plain, Standard}[r.IntN(6)]
			s.Cols = append(s.Cols, c)
		}
		r.Shuffle(len(s.Cols), reflect.Swapper(s.Cols))
		if err := s.Resolve(); err != nil {
			t.Fatal(err)
		}
		s.Narrow = s.AutoNarrow()
		n, classes, nulls := 1+r.IntN(1500), 2+r.IntN(3), 0
		if r.IntN(5) == 0 {
			classes = 30
		}
		if r.IntN(6) == 0 {
			nulls = 200
		}
		cols := make([]arrow.Array, len(s.Cols))
		for i, c := range s.Cols {
			some := 0
			if c.Role == Feature && r.IntN(3) == 0 {
				some = nulls
			}
			if c.Role == Weight {
				cols[i] = randomColumn(r, c.Type, n, 1, 0)
				cols[i] = batch.FromSlice(arrow.PrimitiveTypes.Int32, make([]int32, n), nil)
				for j := range n {
					cols[i].(*array.Int32).Int32Values()[j] = int32(1 + r.IntN(3))
				}
				continue
			}
			cols[i] = randomColumn(r, c.Type, n, classes, some)
		}
		layout, err := record.NewLayout(s.Columns())
		if err != nil {
			t.Fatal(err)
		}
		store := record.NewStore(layout, record.Config{Pool: mem.NewPool("t", 0), Temp: t.TempDir(), Seed: 3, Copies: true})
		if err := store.Add(ctx, batch.New(cols, n)); err != nil {
			t.Fatal(err)
		}
		if err := store.Finish(); err != nil {
			t.Fatal(err)
		}
		leaf, err := store.MakeLeaf(ctx, 0, block.Buckets)
		if err != nil {
			t.Fatal(err)
		}
		v, err := leaf.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := leaf.Draw(store.Copies(0).Holdout(share, false).On(0), v); err != nil {
			t.Fatal(err)
		}
		want, err1 := s.Collect(ctx, v)
		got, d, err2 := s.CollectUnfitted(ctx, v)
		if err1 != nil || err2 != nil {
			if fmt.Sprint(err1) != fmt.Sprint(err2) {
				t.Fatalf("error %v, without one %v", err2, err1)
			}
			continue
		}
		var a, b canon.E
		want.Encode(&a)
		got.Encode(&b)
		if !bytes.Equal(a.B, b.B) {
			t.Fatalf("statistics with an unfitted block differ: %+v, want %+v", got, want)
		}
		f, err := Fit(s, want)
		if err != nil || d == nil || !f.Finishes(d) {
			continue
		}
		var cw []float64
		if s.Classes && r.IntN(2) == 0 {
			for k := range f.Keys {
				cw = append(cw, 0.3*float64(k+1))
			}
		}
		train, held := v.Split()
		for i, part := range []*record.View{train, held} {
			if part.Rows == 0 {
				continue
			}
			want, err := f.EncodeLeaf(s, part, i == 1, cw)
			if err != nil {
				t.Fatal(err)
			}
			got := f.Finish(s, []*UnfittedBlock{d.Train, d.Held}[i], part, cw)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%d rows, %d features: a block made of an unfitted one differs", part.Rows, got.Dense)
			}
			made++
		}
		v.Close()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if made < 150 {
		t.Errorf("only %d unfitted blocks were finished", made)
	}
}
