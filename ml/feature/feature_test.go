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
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
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

// fitOne fits an encoder to one column through a dataset of one leaf.
func fitOne(t *testing.T, c Col, arr arrow.Array) (*Fitted, error) {
	t.Helper()
	c.Role, c.Name = Feature, "x"
	s := &Spec{Cols: []Col{c}, Standardize: true}
	if err := s.Resolve(); err != nil {
		return nil, err
	}
	layout, err := dataset.NewLayout(s.Columns())
	if err != nil {
		t.Fatal(err)
	}
	st := dataset.NewStore(layout, dataset.Config{Pool: mem.NewPool("t", 0), Temp: t.TempDir()})
	defer st.Close()
	if err := st.Add(context.Background(), batch.New([]arrow.Array{arr}, arr.Len())); err != nil {
		t.Fatal(err)
	}
	if err := st.Finish(); err != nil {
		t.Fatal(err)
	}
	leaf, err := st.Settle(context.Background(), 0, dataset.Buckets)
	if err != nil {
		t.Fatal(err)
	}
	v, err := leaf.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
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
func encoded(b *dataset.Block, i int) string {
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
		{"standard, no NULL in training", Col{Column: dataset.Column{Type: types.Float8}}, num(1.0, 3.0), num(3.0, nil, math.NaN(), 2.0, math.Inf(1)), []string{"1", "0", "0", "0", "0"}},
		{"standard with indicator", Col{Column: dataset.Column{Type: types.Float8}}, num(1.0, 3.0, nil), num(3.0, nil), []string{"1 0", "0 1"}},
		{"constant", Col{Column: dataset.Column{Type: types.Float8}}, num(5.0, 5.0), num(5.0, 6.0), []string{"0", "1"}},
		{"exact numerics", Col{Column: dataset.Column{Type: types.FixedNumeric(6, 2, true)}, Encoder: Plain}, column(types.FixedNumeric(6, 2, true), 150), column(types.FixedNumeric(6, 2, true), -275), []string{"-2.75"}},
		{"variable numerics", Col{Column: dataset.Column{Type: types.Numeric}, Encoder: MinMax}, column(types.Numeric, number.DecimalFromInt64(10, 1), number.DecimalFromInt64(5, 0)), column(types.Numeric, number.DecimalFromInt64(3, 0), nil), []string{"0.5", "0.5"}},
		{"max abs", Col{Column: dataset.Column{Type: types.Float8}, Encoder: MaxAbs}, num(-4.0, 2.0), num(2.0), []string{"0.5"}},
		{"robust", Col{Column: dataset.Column{Type: types.Float8}, Encoder: Robust}, num(1.0, 2.0, 3.0, 4.0, 5.0), num(5.0, 3.0), []string{"1", "0"}},
		{"median fill", Col{Column: dataset.Column{Type: types.Float8}, Encoder: Plain, Fill: FillMedian, NoIndicator: true}, num(1.0, 2.0, 9.0, nil), num(nil), []string{"2"}},
		{"most frequent fill", Col{Column: dataset.Column{Type: types.Float8}, Encoder: Plain, Fill: FillMostFrequent, NoIndicator: true}, num(1.0, 9.0, 9.0, nil), num(nil), []string{"9"}},
		{"one-hot", Col{Column: dataset.Column{Type: types.Text}}, text("b", "a", nil, "b"), text("a", "b", nil, "c", ""), []string{"#0", "#1", "#2", "#-1", "#-1"}},
		{"one-hot, no NULL in training", Col{Column: dataset.Column{Type: types.Text}}, text("b", "a"), text(nil, "b"), []string{"#-1", "#1"}},
		{"the most frequent two", Col{Column: dataset.Column{Type: types.Text}, MaxCategories: 2}, text("c", "b", "a", "c"), text("a", "b", "c"), []string{"#0", "#-1", "#1"}},
		{"boolean", Col{Column: dataset.Column{Type: types.Bool}}, column(types.Bool, true, false), column(types.Bool, false, true), []string{"#0", "#1"}},
		{"ordinal", Col{Column: dataset.Column{Type: types.Text}, Encoder: Ordinal}, text("b", "a", nil), text("a", "b", "z", nil), []string{"1", "2", "0", "0"}},
		{"buckets", Col{Column: dataset.Column{Type: types.Float8}, Encoder: Bucketize, Boundaries: []float64{0, 10}}, num(1.0, nil), num(-1.0, 0.0, 9.9, 10.0, nil), []string{"#0", "#1", "#1", "#2", "#3"}},
		{"quantile buckets", Col{Column: dataset.Column{Type: types.Float8}, Encoder: QuantileBucketize, Buckets: 2}, num(1.0, 2.0, 3.0, 4.0), num(2.4, 2.5), []string{"#0", "#1"}},
		// 1970-01-01 was a Thursday
		{"timestamps", Col{Column: dataset.Column{Type: date}}, column(date, 0, 2*86400_000_000), column(date, 86400_000_000+13*3600_000_000, nil), []string{"0.5417 #0 #16 #32", "0 #-1 #-1 #-1"}},
		{"dates", Col{Column: dataset.Column{Type: types.Date}}, column(types.Date, -1, 1), column(types.Date, -1), []string{"-1 #11 #14"}},
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
	f, err := fitOne(t, Col{Column: dataset.Column{Type: types.Text}}, column(types.Text, "a", "b", nil))
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

func TestMergedMomentsAreThoseOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	moments := func(v []float64) NumberStats {
		var acc f64.MomentAcc
		f64.Moments(v, v[0], &acc)
		n := NumberStats{Min: slices.Min(v), Max: slices.Max(v)}
		n.finish(int64(len(v)), float64(len(v)), v[0], &acc)
		return n
	}
	vals := make([]float64, 1000)
	for i := range vals {
		vals[i] = 1e9 + r.NormFloat64() // where sums of squares would drown
	}
	all := moments(vals)
	parts := mergeNumbers(mergeNumbers(moments(vals[:10]), moments(vals[10:500]), false), moments(vals[500:]), false)
	if math.Abs(all.Mean-parts.Mean) > 1e-6 || math.Abs(all.Std()-parts.Std()) > 1e-9 || math.Abs(all.Std()-1) > 0.1 || all.Min != parts.Min || all.Max != parts.Max {
		t.Errorf("all %+v, parts %+v", all, parts)
	}
}

func TestSketchQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	vals := make([]float64, 200000)
	for i := range vals {
		vals[i] = r.ExpFloat64()
	}
	var s Sketch
	for part := range 8 {
		s = s.merge(sketchOf(slices.Clone(vals[part*25000:(part+1)*25000]), nil))
	}
	slices.Sort(vals)
	if len(s) > sketchExact || s.total() != 200000 {
		t.Errorf("%d items of weight %v", len(s), s.total())
	}
	for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.75, 0.99, 1} {
		got := s.Quantile(q)
		rank, _ := slices.BinarySearch(vals, got)
		if off := math.Abs(float64(rank)/200000 - q); off > 0.003 {
			t.Errorf("quantile %v is off by %v of the ranks", q, off)
		}
	}
	few := sketchOf([]float64{3, 1, 2, 2}, nil)
	if few.Quantile(0.5) != 2 || few.Quantile(0.25) != 1.5 || few.Quantile(1) != 3 {
		t.Errorf("quantiles of four values: %v %v %v", few.Quantile(0.5), few.Quantile(0.25), few.Quantile(1))
	}
}

func TestKeysSortAsValues(t *testing.T) {
	i8 := func(v int64) string { return string(le.AppendUint64(nil, uint64(v))) }
	if CompareKeys(types.Int8, i8(-1), i8(3)) >= 0 || CompareKeys(types.Int8, i8(9), i8(10)) >= 0 || CompareKeys(types.Text, "10", "9") >= 0 {
		t.Error("keys do not sort as their values")
	}
	if KeyText(types.FixedNumeric(5, 2, true), i8(-150)) != "-1.50" || KeyText(types.Bool, "\x01") != "true" || KeyText(types.Int8, i8(-7)) != "-7" {
		t.Error("keys do not read as their values")
	}
}
