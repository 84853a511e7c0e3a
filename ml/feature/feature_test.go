package feature

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// column builds one column from values; nil is NULL.
func column(t types.Type, vals ...any) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	for _, v := range vals {
		switch v := v.(type) {
		case nil:
			b.AppendNull()
		case float64:
			b.(*array.Float64Builder).Append(v)
		case int:
			switch b := b.(type) {
			case *array.Int64Builder:
				b.Append(int64(v))
			case *array.Date32Builder:
				b.Append(arrow.Date32(v))
			case *array.TimestampBuilder:
				b.Append(arrow.Timestamp(v))
			}
		case string:
			b.(*array.StringBuilder).Append(v)
		case bool:
			b.(*array.BooleanBuilder).Append(v)
		case number.Decimal:
			b.(*array.BinaryBuilder).Append(v.AppendBinary(nil))
		}
	}
	return b.NewArray()
}

// viewOf returns rows as a dataset of one leaf.
func viewOf(t *testing.T, s *Spec, cols []arrow.Array, rows int) (v *record.View, done func()) {
	t.Helper()
	layout, err := record.NewLayout(s.Columns())
	if err != nil {
		t.Fatal(err)
	}
	st := record.NewStore(layout, record.Config{Pool: mem.NewPool("t", 0), Temp: t.TempDir()})
	if err := st.Add(context.Background(), batch.New(cols, rows)); err != nil {
		t.Fatal(err)
	}
	if err := st.Finish(); err != nil {
		t.Fatal(err)
	}
	leaf, err := st.MakeLeaf(context.Background(), 0, block.Buckets)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = leaf.Open(); err != nil {
		t.Fatal(err)
	}
	return v, func() {
		v.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fitOne fits an encoder to one column through a dataset of one leaf.
func fitOne(t *testing.T, c Col, arr arrow.Array) (*Fitted, error) {
	t.Helper()
	c.Role, c.Name = Feature, "x"
	s := &Spec{Cols: []Col{c}, Standardize: true}
	if err := s.Resolve(); err != nil {
		return nil, err
	}
	v, done := viewOf(t, s, []arrow.Array{arr}, arr.Len())
	defer done()
	stats, err := s.Collect(context.Background(), v)
	if err != nil {
		return nil, err
	}
	var e canon.E
	stats.Encode(&e)
	d := canon.Read(e.B)
	stats = DecodeStats(d)
	if err := d.Done("stats"); err != nil {
		t.Fatal(err)
	}
	f, err := Fit(s, stats)
	if err != nil {
		return nil, err
	}
	var a, b canon.E
	f.Encode(&a)
	d = canon.Read(a.B)
	back := DecodeFitted(d)
	if err := d.Done("fitted"); err != nil {
		t.Fatal(err)
	}
	if back.Encode(&b); !bytes.Equal(a.B, b.B) {
		t.Error("fitted encoders do not decode to themselves")
	}
	return back, nil
}

// encoded shows row i of a block: numbers, then codes.
func encoded(b *block.Block, i int) string {
	s := ""
	for j := range b.Dense {
		s += fmt.Sprintf("%.4g ", b.X64[(i/8*b.Dense+j)*8+i%8])
	}
	for c := range b.Codes {
		s += fmt.Sprintf("#%d ", b.Code[(i/8*b.Codes+c)*8+i%8])
	}
	return s[:len(s)-1]
}

func TestEncoders(t *testing.T) {
	text := func(v ...any) arrow.Array { return column(types.Text, v...) }
	num := func(v ...any) arrow.Array { return column(types.Float8, v...) }
	date := types.Timestamp
	for _, c := range []struct {
		name       string
		col        Col
		train, ask arrow.Array
		want       []string
	}{
		{"standard, no NULL in training", Col{Column: record.Column{Type: types.Float8}}, num(1.0, 3.0), num(3.0, nil, math.NaN(), 2.0, math.Inf(1)), []string{"1", "0", "0", "0", "0"}},
		{"standard with indicator", Col{Column: record.Column{Type: types.Float8}}, num(1.0, 3.0, nil), num(3.0, nil), []string{"1 0", "0 1"}},
		{"constant", Col{Column: record.Column{Type: types.Float8}}, num(5.0, 5.0), num(5.0, 6.0), []string{"0", "1"}},
		{"exact numerics", Col{Column: record.Column{Type: types.FixedNumeric(6, 2, true)}, Encoder: Plain}, column(types.FixedNumeric(6, 2, true), 150), column(types.FixedNumeric(6, 2, true), -275), []string{"-2.75"}},
		{"variable numerics", Col{Column: record.Column{Type: types.Numeric}, Encoder: MinMax}, column(types.Numeric, number.DecimalFromInt64(10, 1), number.DecimalFromInt64(5, 0)), column(types.Numeric, number.DecimalFromInt64(3, 0), nil), []string{"0.5", "0.5"}},
		{"max abs", Col{Column: record.Column{Type: types.Float8}, Encoder: MaxAbs}, num(-4.0, 2.0), num(2.0), []string{"0.5"}},
		{"robust", Col{Column: record.Column{Type: types.Float8}, Encoder: Robust}, num(1.0, 2.0, 3.0, 4.0, 5.0), num(5.0, 3.0), []string{"1", "0"}},
		{"median fill", Col{Column: record.Column{Type: types.Float8}, Encoder: Plain, Fill: FillMedian, NoIndicator: true}, num(1.0, 2.0, 9.0, nil), num(nil), []string{"2"}},
		{"most frequent fill", Col{Column: record.Column{Type: types.Float8}, Encoder: Plain, Fill: FillMostFrequent, NoIndicator: true}, num(1.0, 9.0, 9.0, nil), num(nil), []string{"9"}},
		{"most frequent numeric", Col{Column: record.Column{Type: types.Numeric}, Encoder: Plain, Fill: FillMostFrequent, NoIndicator: true},
			column(types.Numeric, number.DecimalFromInt64(0, 0), number.DecimalFromInt64(0, 0), number.DecimalFromInt64(12345678, 0), nil), column(types.Numeric, nil), []string{"0"}},
		{"one-hot", Col{Column: record.Column{Type: types.Text}}, text("b", "a", nil, "b"), text("a", "b", nil, "c", ""), []string{"#0", "#1", "#2", "#-1", "#-1"}},
		{"one-hot, no NULL in training", Col{Column: record.Column{Type: types.Text}}, text("b", "a"), text(nil, "b"), []string{"#-1", "#1"}},
		{"the most frequent two", Col{Column: record.Column{Type: types.Text}, MaxCategories: 2}, text("c", "b", "a", "c"), text("a", "b", "c", "new", nil), []string{"#0", "#2", "#1", "#2", "#-1"}},
		{"boolean", Col{Column: record.Column{Type: types.Bool}}, column(types.Bool, true, false), column(types.Bool, false, true), []string{"#0", "#1"}},
		{"ordinal", Col{Column: record.Column{Type: types.Text}, Encoder: Ordinal}, text("b", "a", nil), text("a", "b", "z", nil), []string{"1", "2", "0", "0"}},
		{"buckets", Col{Column: record.Column{Type: types.Float8}, Encoder: Bucketize, Boundaries: []float64{0, 10}}, num(1.0, nil), num(-1.0, 0.0, 9.9, 10.0, nil), []string{"#0", "#1", "#1", "#2", "#3"}},
		{"quantile buckets", Col{Column: record.Column{Type: types.Float8}, Encoder: QuantileBucketize, Buckets: 2}, num(1.0, 2.0, 3.0, 4.0), num(2.4, 2.5), []string{"#0", "#1"}},
		{"hash buckets", Col{Column: record.Column{Type: types.Text}, Encoder: Hashed, Buckets: 4}, text("b", "a", nil), text("a", "b", "new", nil, ""), []string{"#0", "#1", "#0", "#4", "#1"}},
		{"hash buckets, no NULL in training", Col{Column: record.Column{Type: types.Text}, Encoder: Hashed, Buckets: 3}, text("b", "a"), text(nil), []string{"#-1"}},
		{"splines with indicator", Col{Column: record.Column{Type: types.Float8}, Encoder: Spline, Buckets: 2, Boundaries: []float64{1}}, num(0.0, 10.0, nil), num(2.0, nil, -5.0), []string{"0.8 0.2 0", "0.5 0.5 1", "1 0 0"}},
		{"splines of one value", Col{Column: record.Column{Type: types.Float8}, Encoder: Spline, Buckets: 3, Boundaries: []float64{1}}, num(5.0, 5.0), num(5.0), []string{"1 0"}},
		// 1970-01-01 was a Thursday
		{"timestamps", Col{Column: record.Column{Type: date}}, column(date, 0, 2*86400_000_000), column(date, 86400_000_000+13*3600_000_000, nil), []string{"0.5417 #0 #16 #32", "0 #-1 #-1 #-1"}},
		{"dates", Col{Column: record.Column{Type: types.Date}}, column(types.Date, -1, 1), column(types.Date, -1), []string{"-1 #11 #14"}},
	} {
		f, err := fitOne(t, c.col, c.train)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b, err := f.EncodeColumns([]arrow.Array{c.ask}, c.ask.Len())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, want := range c.want {
			if got := encoded(b, i); got != want {
				t.Errorf("%s: row %d is %q, want %q", c.name, i, got, want)
			}
		}
		if n := len(f.Slots()); n != f.Params() {
			t.Errorf("%s: %d slots are named, %d there are", c.name, n, f.Params())
		}
	}
}

func TestDictionariesReadAsTheirTexts(t *testing.T) {
	f, err := fitOne(t, Col{Column: record.Column{Type: types.Text}}, column(types.Text, "a", "b", nil))
	if err != nil {
		t.Fatal(err)
	}
	valid := []byte{0b0111}
	dict := batch.FromIndices(types.DictArrow, []int32{1, 0, 2, 0}, valid, column(types.Text, "b", "a", "new"))
	b, err := f.EncodeColumns([]arrow.Array{dict}, 4)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range 4 {
		got = append(got, encoded(b, i))
	}
	if fmt.Sprint(got) != "[#0 #1 #-1 #2]" {
		t.Errorf("codes %v", got)
	}
}

// TestStatisticsInAnyOrder: encoders fitted to rows with weights and NULLs have the same bytes
// whatever the order of rows and the size of batches, and their moments and quantiles equal a plain
// computation.
func TestStatisticsInAnyOrder(t *testing.T) {
	const rows = 30000
	r := rand.New(rand.NewPCG(1, 1))
	cols := []Col{{Column: record.Column{Name: "x", Type: types.Float8}, Encoder: Standard, Role: Feature},
		{Column: record.Column{Name: "q", Type: types.Float8}, Encoder: QuantileBucketize, Buckets: 7, Role: Feature},
		{Column: record.Column{Name: "m", Type: types.Float4}, Encoder: Robust, Fill: FillMedian, Role: Feature},
		{Column: record.Column{Name: "c", Type: types.Text}, Encoder: OneHot, MaxCategories: 5, Role: Feature},
		{Column: record.Column{Name: "w", Type: types.Float8}, Role: Weight}}
	s := &Spec{Cols: cols}
	if err := s.Resolve(); err != nil {
		t.Fatal(err)
	}
	x, q, m, c, w := make([]float64, rows), make([]float64, rows), make([]float32, rows), make([]string, rows), make([]float64, rows)
	for i := range rows {
		x[i] = 1e9 + r.NormFloat64() // so large that naive sums of squares lose the variance
		q[i] = r.ExpFloat64() * math.Ldexp(1, r.IntN(40)-20)
		m[i] = float32(r.NormFloat64())
		c[i] = fmt.Sprint("category ", r.IntN(12))
		w[i] = float64(r.IntN(4)) / 10 // whose sums in floating point are inexact
	}
	fit := func(order []int, cuts int) *Fitted {
		var all *Stats
		for k := range cuts {
			part := order[rows*k/cuts : rows*(k+1)/cuts]
			b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64},
				{Name: "q", Type: arrow.PrimitiveTypes.Float64}, {Name: "m", Type: arrow.PrimitiveTypes.Float32}, {Name: "c", Type: arrow.BinaryTypes.String},
				{Name: "w", Type: arrow.PrimitiveTypes.Float64}}, nil))
			for _, i := range part {
				b.Field(0).(*array.Float64Builder).Append(x[i])
				b.Field(1).(*array.Float64Builder).Append(q[i])
				if i%97 == 0 {
					b.Field(2).AppendNull()
				} else {
					b.Field(2).(*array.Float32Builder).Append(m[i])
				}
				b.Field(3).(*array.StringBuilder).Append(c[i])
				b.Field(4).(*array.Float64Builder).Append(w[i])
			}
			v, done := viewOf(t, s, b.NewRecord().Columns(), len(part))
			st, err := s.Collect(context.Background(), v)
			done()
			if err != nil {
				t.Fatal(err)
			}
			if all == nil {
				all = st
			} else if all, err = s.MergeStats(st, all); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Fit(s, all)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	order := make([]int, rows)
	for i := range order {
		order[i] = i
	}
	var want canon.E
	f := fit(order, 1)
	f.Encode(&want)
	for _, cuts := range []int{2, 3, 17} {
		r.Shuffle(rows, func(i, j int) { order[i], order[j] = order[j], order[i] })
		var got canon.E
		if fit(order, cuts).Encode(&got); !bytes.Equal(got.B, want.B) {
			t.Fatalf("in %d parts: other encoders", cuts)
		}
	}
	var n, mean, m2 float64
	for i := range rows {
		n, mean = n+w[i], mean+w[i]*(x[i]-1e9)
	}
	mean /= n
	for i := range rows {
		m2 += w[i] * (x[i] - 1e9 - mean) * (x[i] - 1e9 - mean)
	}
	if got := f.Cols[0]; math.Abs(got.Center[0]-1e9-mean) > 1e-6 || math.Abs(got.Scale[0]-math.Sqrt(m2/n)) > 1e-9 {
		t.Errorf("mean %v, deviation %v; want %v, %v", got.Center[0], got.Scale[0], mean, math.Sqrt(m2/n))
	}
	for k, bound := range f.Cols[1].Bounds {
		below := 0.0
		for i := range rows {
			if q[i] <= bound {
				below += w[i]
			}
		}
		if off := math.Abs(below/n - float64(k+1)/7); off > 0.001 {
			t.Errorf("bound %d is off by %v of the weight", k, off)
		}
	}
}

func TestSketchQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for name, draw := range map[string]func() float64{
		"exponential": r.ExpFloat64,
		"normal":      r.NormFloat64,
		"far":         func() float64 { return 1e6 + r.NormFloat64() },
		"two scales":  func() float64 { return r.NormFloat64() * math.Pow(1e12, float64(r.IntN(2))) },
	} {
		vals := make([]float64, 200000)
		for i := range vals {
			vals[i] = draw()
		}
		var s Sketch
		for part := range 8 {
			s = s.merge(sketchOf(slices.Clone(vals[part*25000:(part+1)*25000]), nil))
		}
		slices.Sort(vals)
		if len(s.items) > sketchSize || len(s.items) < sketchSize/4 {
			t.Errorf("%s: %d items", name, len(s.items))
		}
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.75, 0.99, 1} {
			got := s.Quantile(q)
			rank, _ := slices.BinarySearch(vals, got)
			if off := math.Abs(float64(rank)/200000 - q); off > 0.001 {
				t.Errorf("%s: quantile %v is off by %v of the ranks", name, q, off)
			}
		}
	}
	few := sketchOf([]float64{3, 1, 2, 2}, nil)
	if few.Quantile(0.5) != 2 || few.Quantile(0.25) != 1.5 || few.Quantile(1) != 3 {
		t.Errorf("quantiles of four values: %v %v %v", few.Quantile(0.5), few.Quantile(0.25), few.Quantile(1))
	}
}

func TestKeysSortAsValues(t *testing.T) {
	i8 := func(v int64) string { return string(le.AppendUint64(nil, uint64(v))) }
	if compareKeys(types.Int8, i8(-1), i8(3)) >= 0 || compareKeys(types.Int8, i8(9), i8(10)) >= 0 || compareKeys(types.Text, "10", "9") >= 0 {
		t.Error("keys do not sort as their values")
	}
	if KeyText(types.FixedNumeric(5, 2, true), i8(-150)) != "-1.50" || KeyText(types.Bool, "\x01") != "true" || KeyText(types.Int8, i8(-7)) != "-7" {
		t.Error("keys do not read as their values")
	}
}
