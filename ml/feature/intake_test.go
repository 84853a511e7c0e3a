package feature

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/sql/types"
)

func stringColumn(vals []string, valid []bool) *array.String {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(vals, valid)
	return b.NewStringArray()
}

// TestCategoriesAreNumberedOnce takes in batches whose strings come with dictionaries,
// large ones and small ones that some batches share, and without: each row's code names
// its own value.
func TestCategoriesAreNumberedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var dict *array.String
	// Values are "" to those of 1,000 or 10, in an order of each dictionary's own.
	column := func(n int) (arr arrow.Array, want []any) {
		if dict == nil || r.IntN(4) == 0 {
			values := make([]string, []int{10, 1000}[r.IntN(2)])
			for i, k := range r.Perm(len(values)) {
				if k > 0 {
					values[i] = fmt.Sprint("value ", k)
				}
			}
			dict = stringColumn(values, nil)
		}
		index, valid := make([]int32, n), make([]bool, n)
		plain := make([]string, n)
		for i := range index {
			index[i], valid[i] = int32(r.IntN(dict.Len())), r.IntN(5) > 0
			if plain[i] = dict.Value(int(index[i])); valid[i] {
				want = append(want, plain[i])
			} else {
				want = append(want, nil)
			}
		}
		if r.IntN(5) == 0 {
			return stringColumn(plain, valid), want
		}
		ib := array.NewInt32Builder(memory.DefaultAllocator)
		ib.AppendValues(index, valid)
		idx := ib.NewArray()
		data := array.NewDataWithDictionary(types.DictArrow, n, idx.Data().Buffers(), idx.NullN(), 0, dict.Data().(*array.Data))
		return array.NewDictionaryData(data), want
	}
	s := &Spec{Cols: []Col{{Column: dataset.Column{Name: "a", Type: types.Text}, Role: Feature}, {Column: dataset.Column{Name: "x", Type: types.Float8}, Role: Feature},
		{Column: dataset.Column{Name: "b", Type: types.Text}, Role: Feature}}}
	if err := s.Resolve(); err != nil || !s.TakesIn() {
		t.Fatal(err, s.TakesIn())
	}
	for range 20 {
		k := s.NewIntake(false)
		b := k.Start(3000)
		var want [2][]any
		for k.Rows() < 2500 {
			n := 1 + r.IntN(80)
			x := batch.FromSlice(arrow.PrimitiveTypes.Float64, make([]float64, n), nil)
			first, a := column(n)
			second, c := column(n)
			if err := k.Open(batch.New([]arrow.Array{first, x, second}, n)); err != nil {
				t.Fatal(err)
			}
			if err := k.Add(0, n); err != nil {
				t.Fatal(err)
			}
			want[0], want[1] = append(want[0], a...), append(want[1], c...)
		}
		taken := k.End()
		for j := range want {
			distinct := map[string]bool{}
			for _, key := range taken.cats[j] {
				if distinct[key] {
					t.Fatalf("%q has two numbers", key)
				}
				distinct[key] = true
			}
			for i, w := range want[j] {
				var got any
				if code := b.CodeAt(i, j); code >= 0 {
					got = taken.cats[j][code]
				}
				if got != w {
					t.Fatalf("row %d of column %d is %v, not %v", i, j, got, w)
				}
			}
		}
	}
}
