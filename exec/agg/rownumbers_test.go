package agg

import (
	"math"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// TestMeasuresOfLists: evaluation metrics over lists of row numbers of one group, of some rows or
// all, equal those of the rows one by one, with NULLs or without, whatever the labels.
func TestMeasuresOfLists(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	for _, name := range []string{"ml_classification", "accuracy", "roc_auc", "log_loss", "ml_regression"} {
		for _, labels := range []int{1, 2, 3, 40} {
			for _, gaps := range []bool{false, true} {
				typ := types.Int8
				if name == "ml_regression" {
					typ = types.Float8
				}
				make2 := func() Agg {
					a := metricOf(name, []types.Type{typ, types.Float8})
					a.Resize(2)
					return a
				}
				lists, single := make2(), make2()
				for range 20 {
					n := 1 + r.Intn(300)
					label, got, score := make([]int64, n), make([]int64, n), make([]float64, n)
					var valid []byte
					if gaps {
						valid = make([]byte, batch.BitmapBytes(n))
					}
					for i := range label {
						label[i], got[i], score[i] = int64(r.Intn(labels)), int64(r.Intn(labels)), r.Float64()
						if gaps && r.Intn(5) > 0 {
							batch.SetBit(valid, i)
						}
					}
					args := []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, label, valid), float64s(score...)}
					switch name {
					case "ml_classification", "accuracy":
						args[1] = int64s(got...)
					case "ml_regression":
						args[0] = batch.FromSlice(arrow.PrimitiveTypes.Float64, score, valid)
					}
					g, rows := uint32(r.Intn(2)), []int32(nil)
					count := n
					if r.Intn(2) == 0 {
						rows = []int32{}
						for i := range n {
							if r.Intn(3) > 0 {
								rows = append(rows, int32(i))
							}
						}
						count = len(rows)
					}
					if err := lists.(Lister).UpdateList(g, rows, count, args); err != nil {
						t.Fatal(err)
					}
					for i := range n {
						one := []int32{int32(i)}
						if rows != nil {
							if i >= len(rows) {
								break
							}
							one[0] = rows[i]
						}
						if err := single.Update([]uint32{g}, []arrow.Array{kernel.Take(args[0], one), kernel.Take(args[1], one)}); err != nil {
							t.Fatal(err)
						}
					}
				}
				want, err := single.Results(0, 2)
				if err != nil {
					t.Fatal(err)
				}
				have, err := lists.Results(0, 2)
				if err != nil {
					t.Fatal(err)
				}
				if !array.Equal(have, want) {
					t.Errorf("%s of %d labels, gaps %v: %v in lists, %v one by one", name, labels, gaps, have, want)
				}
			}
		}
	}
}

// TestSumsOfLists: sums and variances over lists of row numbers, with few or many NULLs, equal
// those of the rows one by one; the value that lies in memory under a NULL is ignored.
func TestSumsOfLists(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	for _, nulls := range []float64{0.0005, 0.1, 0.5, 1} {
		for round := range 16 {
			lists, single := Agg(&floatSum{out: types.Float8}), Agg(&floatSum{out: types.Float8})
			if round >= 8 {
				lists, single = &floatVariance{in: types.Float8}, &floatVariance{in: types.Float8}
			}
			lists.Resize(2)
			single.Resize(2)
			n := 1 + r.Intn(5*validBlock)
			vals, valid := make([]float64, n), make([]byte, batch.BitmapBytes(n))
			for i := range vals {
				if vals[i] = r.NormFloat64() * math.Pow(10, float64(r.Intn(1+4*(round%8)))); r.Float64() < nulls {
					vals[i] = math.NaN()
				} else {
					batch.SetBit(valid, i)
				}
			}
			args := []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, vals, valid)}
			rows, count := []int32(nil), n
			if round%2 == 0 {
				rows = []int32{}
				for i := range n {
					if r.Intn(3) > 0 {
						rows = append(rows, int32(i))
					}
				}
				count = len(rows)
			}
			if err := lists.(Lister).UpdateList(1, rows, count, args); err != nil {
				t.Fatal(err)
			}
			for k := range count {
				one := []int32{int32(k)}
				if rows != nil {
					one[0] = rows[k]
				}
				if err := single.Update([]uint32{1}, []arrow.Array{kernel.Take(args[0], one)}); err != nil {
					t.Fatal(err)
				}
			}
			have, err := lists.Results(0, 2)
			if err != nil {
				t.Fatal(err)
			}
			want, err := single.Results(0, 2)
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(have, want) {
				t.Errorf("%v of %d rows NULL: %v in a list, %v one by one", nulls, count, have, want)
			}
		}
	}
}

// TestLogicOfLists: bool_and and bool_or over lists of row numbers equal those of the rows one by
// one; a group that is decided (false for bool_and) stays so.
func TestLogicOfLists(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	for _, and := range []bool{false, true} {
		for range 200 {
			lists, single := &logic{and: and}, &logic{and: and}
			lists.Resize(2)
			single.Resize(2)
			share := r.Float64()
			for range 3 {
				n := 1 + r.Intn(70)
				bits, valid := make([]byte, batch.BitmapBytes(n)), make([]byte, batch.BitmapBytes(n))
				for i := range n {
					if r.Float64() < share {
						batch.SetBit(bits, i)
					}
					if r.Intn(4) > 0 {
						batch.SetBit(valid, i)
					}
				}
				args := []arrow.Array{batch.FromBits(bits, valid, n)}
				g, rows, count := uint32(r.Intn(2)), []int32(nil), n
				if r.Intn(2) == 0 {
					rows = []int32{}
					for i := range n {
						if r.Intn(3) > 0 {
							rows = append(rows, int32(i))
						}
					}
					count = len(rows)
				}
				if err := lists.UpdateList(g, rows, count, args); err != nil {
					t.Fatal(err)
				}
				for i := range count {
					at := int32(i)
					if rows != nil {
						at = rows[i]
					}
					if err := single.Update([]uint32{g}, []arrow.Array{kernel.Take(args[0], []int32{at})}); err != nil {
						t.Fatal(err)
					}
				}
				if lists.v[0] != single.v[0] || lists.v[1] != single.v[1] {
					t.Fatalf("and %v: %v, not %v", and, lists.v, single.v)
				}
			}
		}
	}
}
