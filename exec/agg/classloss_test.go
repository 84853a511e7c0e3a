package agg

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/sql/types"
)

// classLossRow is a row of log_loss's arguments; a negative label is NULL.
type classLossRow struct {
	group   uint32
	label   int
	given   []float64 // nil: NULL
	classes bool      // not NULL
}

// append adds the row to the builders of its columns.
func (row classLossRow) append(label array.Builder, given, classes *array.ListBuilder, names []string) {
	switch b := label.(type) {
	case *array.StringBuilder:
		if row.label < 0 {
			b.AppendNull()
		} else {
			b.Append(fmt.Sprint(row.label))
		}
	case *array.Int64Builder:
		if row.label < 0 {
			b.AppendNull()
		} else {
			b.Append(int64(row.label))
		}
	}
	if given.Append(row.given != nil); row.given != nil {
		given.ValueBuilder().(*array.Float64Builder).AppendValues(row.given, nil)
	}
	if classes.Append(row.classes); row.classes {
		classes.ValueBuilder().(*array.StringBuilder).AppendValues(names, nil)
	}
}

// TestClassLossOfManyRows adds rows in batches of all sizes, to one group and to several, and
// merges: the result has the bits of a sum without rounding, row by row.
func TestClassLossOfManyRows(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	odd := []float64{0, 1, math.NaN(), -0x1p-41, 1 + 0x1p-41, 5e-324, 0x1p-52, 1 - 0x1p-53, math.Copysign(0, -1)}
	floats, _ := types.ArrayOf(types.Float8)
	texts, _ := types.ArrayOf(types.Text)
	for round := range 30 {
		typ := []types.Type{types.Text, types.Int8}[round%2]
		groups, nulls, odds := 1+round/2%3*2, round%3 == 0, round%5 == 0
		names := make([]string, 3+r.Intn(40))
		for k, at := range r.Perm(len(names)) {
			names[at] = fmt.Sprint(k + r.Intn(2)*100*min(1, k)) // so that some labels are not among the classes
		}
		rows := make([]classLossRow, 1+r.Intn(6000))
		want := make([]exact.Sum, groups)
		for i := range rows {
			row := classLossRow{group: uint32(r.Intn(groups)), label: r.Intn(len(names)), classes: true}
			row.given = []float64{} // probabilities fewer than the classes, below more
			for range len(names) + r.Intn(3) - 1 {
				p := r.Float64()
				if odds && r.Intn(20) == 0 {
					p = odd[r.Intn(len(odd))]
					if round%10 == 0 && p != p {
						p = 1
					}
				}
				row.given = append(row.given, p)
			}
			if nulls {
				switch r.Intn(12) {
				case 0:
					row.label = -1
				case 1:
					row.given = nil
				case 2:
					row.classes = false
				}
			}
			rows[i] = row
			if row.label < 0 || row.given == nil || !row.classes {
				continue
			}
			p := []float64{0}
			for k, name := range names {
				if name == fmt.Sprint(row.label) && k < len(row.given) {
					p[0] = row.given[k]
				}
			}
			f64.CrossEntropy(p, p, []float64{1})
			want[row.group].Add(p[0])
		}
		for _, size := range []int{1, 7, 1024, 1025, 5000, len(rows)} {
			var parts [2]*classLoss
			for i := range parts {
				parts[i] = metricOf("log_loss", []types.Type{typ, floats, texts}).(*classLoss)
				parts[i].Resize(groups)
			}
			for from := 0; from < len(rows); from += size {
				// One row more at the front, so that the arrays tested are slices with an offset.
				label := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
				given := array.NewBuilder(memory.DefaultAllocator, floats.Arrow()).(*array.ListBuilder)
				classes := array.NewBuilder(memory.DefaultAllocator, texts.Arrow()).(*array.ListBuilder)
				rows[from].append(label, given, classes, names)
				to := min(from+size, len(rows))
				var of []uint32
				for _, row := range rows[from:to] {
					row.append(label, given, classes, names)
					of = append(of, row.group)
				}
				args := []arrow.Array{label.NewArray(), given.NewArray(), classes.NewArray()}
				for k := range args {
					args[k] = array.NewSlice(args[k], 1, int64(args[k].Len()))
				}
				if err := parts[from/size%2].Update(of, args); err != nil {
					t.Fatal(err)
				}
			}
			whole := metricOf("log_loss", []types.Type{typ, floats, texts}).(*classLoss)
			whole.Resize(groups)
			ids := make([]uint32, groups)
			for g := range ids {
				ids[g] = uint32(g)
			}
			if err := whole.MergeFrom(ids, parts[0], ids); err != nil {
				t.Fatal(err)
			}
			st, err := parts[1].States(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			if err := whole.MergeStates(ids, st.(*array.Binary)); err != nil {
				t.Fatal(err)
			}
			res, err := whole.Results(0, groups)
			if err != nil {
				t.Fatal(err)
			}
			for g := range want {
				got := types.DatumAt(types.Float8, res, g)
				if want[g].N() == 0 {
					if got != nil {
						t.Errorf("round %d: %v of no rows", round, got)
					}
					continue
				}
				v, w := got.(float64), want[g].Value()/float64(want[g].N())
				if math.Float64bits(v) != math.Float64bits(w) && (v == v || w == w) {
					t.Errorf("round %d, batches of %d, group %d: %v, want %v", round, size, g, v, w)
				}
			}
		}
	}
}
