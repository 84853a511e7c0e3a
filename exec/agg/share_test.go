package agg

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// labelColumns returns a column of n rows with random labels of type t and, for text, the same
// column dictionary-encoded.
func labelColumns(r *rand.Rand, t types.Type, n, labels int) (arr, dict arrow.Array) {
	b, index := array.NewBuilder(memory.DefaultAllocator, t.Arrow()), array.NewInt32Builder(memory.DefaultAllocator)
	names := array.NewStringBuilder(memory.DefaultAllocator)
	order := r.Perm(labels)
	at := make([]int32, labels)
	for place, k := range order {
		at[k] = int32(place)
		names.Append(fmt.Sprint("label ", k))
	}
	for range n {
		if r.Intn(30) == 0 {
			b.AppendNull()
			index.AppendNull()
			continue
		}
		k := r.Intn(labels)
		index.Append(at[k])
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(fmt.Sprint("label ", k))
		case *array.BooleanBuilder:
			b.Append(k == 1)
		case *array.Int64Builder:
			b.Append(int64(k) * 700)
		}
	}
	arr, dict = b.NewArray(), nil
	if t.IsString() {
		idx := index.NewArray()
		data := array.NewDataWithDictionary(types.DictArrow, n, idx.Data().Buffers(), idx.NullN(), 0, names.NewArray().Data().(*array.Data))
		return arr, array.NewDictionaryData(data)
	}
	return arr, arr
}

// TestSharedLabels: aggregates that share the numbering of the labels of a column return what each
// returns by itself, with dictionary-encoded texts or plain ones.
func TestSharedLabels(t *testing.T) {
	names := []string{"ml_classification", "log_loss", "accuracy", "roc_auc"}
	for _, typ := range []types.Type{types.Text, types.Bool, types.Int8} {
		for _, labels := range []int{2, 3, 40} {
			if typ.OID == types.BoolOID && labels > 2 {
				continue
			}
			r := rand.New(rand.NewSource(int64(labels)))
			make2 := func() (out []Agg) {
				for _, name := range names {
					a := metricOf(name, []types.Type{typ, types.Float8})
					a.Resize(3)
					out = append(out, a)
				}
				return out
			}
			alone, shared := make2(), make2()
			Share(shared, []int{4, 4, -1, 4})
			for range 12 {
				n := 1 + r.Intn(200)
				truth, coded := labelColumns(r, typ, n, labels)
				got, gotCoded := labelColumns(r, typ, n, labels)
				score, groups := make([]float64, n), make([]uint32, n)
				for i := range score {
					score[i], groups[i] = r.Float64(), uint32(r.Intn(2))
				}
				if r.Intn(2) == 0 {
					clear(groups)
				}
				for k, name := range names {
					args, other := []arrow.Array{truth, got}, []arrow.Array{coded, gotCoded}
					if name == "log_loss" || name == "roc_auc" {
						args[1], other[1] = float64s(score...), float64s(score...)
					}
					if err := alone[k].Update(groups, args); err != nil {
						t.Fatal(err)
					}
					if err := shared[k].Update(groups, other); err != nil {
						t.Fatal(err)
					}
				}
			}
			for k, name := range names {
				want, err := alone[k].Results(0, 3)
				if err != nil {
					t.Fatal(err)
				}
				got, err := shared[k].Results(0, 3)
				if err != nil {
					t.Fatal(err)
				}
				if !array.Equal(got, want) {
					t.Errorf("%s of %d labels of %s: %v together, %v alone", name, labels, typ, got, want)
				}
			}
		}
	}
}
