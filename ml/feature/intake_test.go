package feature

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

func stringColumn(vals []string, valid []bool) *array.String {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(vals, valid)
	return b.NewStringArray()
}

// TestCategoriesAreNumberedOnce takes in batches of strings with dictionaries, large ones and small
// ones that some batches share, and without: the code of each row denotes its value.
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
	s := &Spec{Cols: []Col{{Column: record.Column{Name: "a", Type: types.Text}, Role: Feature}, {Column: record.Column{Name: "x", Type: types.Float8}, Role: Feature},
		{Column: record.Column{Name: "b", Type: types.Text}, Role: Feature}}}
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

// TestLongBlocksAreTheSame takes the same rows into a long block, whose tiles are stored bypassing
// the caches, and into short ones: values and statistics are the same.
func TestLongBlocksAreTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	const d, rows = 12, 32000
	s := &Spec{Narrow: true}
	vals := make([][]float32, d+1)
	var cols []arrow.Array
	for j := range vals {
		role := Feature
		if j == d {
			role = Label
		}
		s.Cols = append(s.Cols, Col{Column: record.Column{Name: fmt.Sprint("x", j), Type: types.Float4}, Role: role, Encoder: Plain})
		vals[j] = make([]float32, rows)
		for i := range vals[j] {
			if vals[j][i] = float32(r.NormFloat64() * 100); r.IntN(9) == 0 {
				vals[j][i] *= 0
			}
		}
		cols = append(cols, batch.FromSlice(arrow.PrimitiveTypes.Float32, vals[j], nil))
	}
	if err := s.Resolve(); err != nil || !s.TakesIn() {
		t.Fatal(err, s.TakesIn())
	}
	in := batch.New(cols, rows)
	take := func(size int) (got [][]float64, st *Stats, tiled int) {
		k := s.NewIntake(false)
		if err := k.Open(in); err != nil {
			t.Fatal(err)
		}
		for from := 0; from < rows; {
			n := min(size, rows-from)
			b := k.Start(n)
			for at := 0; at < n; {
				m := min(n-at, record.ViewRows)
				if r.IntN(4) == 0 {
					m = min(m, 1+r.IntN(record.ViewRows))
				}
				if err := k.Add(from+at, m); err != nil {
					t.Fatal(err)
				}
				at += m
			}
			if 4*len(b.X32) >= longBlock {
				tiled++
			}
			k.End()
			for i := range n {
				row := make([]float64, d)
				for j := range row {
					row[j] = b.Value(i, j)
				}
				got = append(got, row)
			}
			from += n
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		return got, k.Rest(), tiled
	}
	want, short, none := take(1000)
	got, long, some := take(rows)
	if none > 0 || some == 0 {
		t.Fatalf("%d short blocks and %d long ones are tiled past the caches", none, some)
	}
	for i := range want {
		for j, v := range want[i] {
			if math.Float64bits(got[i][j]) != math.Float64bits(v) || v != float64(vals[j][i]) {
				t.Fatalf("row %d column %d is %v in a long block, %v in a short one, %v in the rows", i, j, got[i][j], v, vals[j][i])
			}
		}
	}
	var a, b canon.E
	short.Encode(&a)
	long.Encode(&b)
	if !bytes.Equal(a.B, b.B) {
		t.Error("the statistics of a long block are others")
	}
}
