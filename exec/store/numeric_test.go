package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// TestNumericsOfOneScale: a segment's zones say which scale all numerics of a column have, only where they all do, and
// then a scan reads the same values in fixed point.
func TestNumericsOfOneScale(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dec := func(s string) types.Datum {
		d, err := number.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	cases := []struct {
		name  string
		scale uint8 // as in the zone
		value func(i int) types.Datum
	}{
		{"money", 3, func(int) types.Datum { return number.DecimalFromInt64(r.Int64N(2e6)-1e6, 2) }},
		{"with NULLs", 3, func(i int) types.Datum {
			if r.IntN(3) == 0 {
				return nil
			}
			return number.DecimalFromInt64(r.Int64()>>r.IntN(64), 2)
		}},
		{"whole", 1, func(i int) types.Datum { return number.DecimalFromInt64(int64(i%3), 0) }},
		{"eighteen places", 19, func(i int) types.Datum { return number.DecimalFromInt64(int64(i), 18) }},
		{"one", 4, func(i int) types.Datum { return dec("-1.500") }},
		{"only NULL", 0, func(int) types.Datum { return nil }},
		{"only NULL at first", 2, func(i int) types.Datum {
			if i < 600 {
				return nil
			}
			return number.DecimalFromInt64(int64(i), 1)
		}},
		{"nineteen places", 0, func(i int) types.Datum { return number.DecimalFromInt64(int64(i), 19) }},
		{"a zero more", 0, func(i int) types.Datum { return dec([]string{"1.5", "1.50"}[min(i/999, 1)]) }},
		{"not a number", 0, func(i int) types.Datum { return dec([]string{"1.5", "NaN"}[i%2]) }},
		{"infinite", 0, func(i int) types.Datum { return dec([]string{"1.5", "-Infinity"}[i%2]) }},
		{"long", 0, func(i int) types.Datum { return dec(fmt.Sprintf("%d00000000000000000000.5", 1+i%2)) }},
	}
	var columns []store.WriterColumn
	for i := range cases {
		columns = append(columns, store.WriterColumn{Num: int16(i + 1), Type: types.Numeric})
	}
	for _, o := range []store.WriterOptions{{}, {InlineBytes: -1, GroupRows: 64}, {InlineBytes: -1, GroupRows: 500, Compress: true}, {InlineBytes: -1}} {
		s := open(t, nil)
		want := make(rows, 1000)
		for i := range want {
			for _, c := range cases {
				want[i] = append(want[i], c.value(i))
			}
		}
		o.Columns = columns
		w := s.NewWriter(o)
		if err := w.Write(ctx, batchOf(t, columns, want, false)); err != nil {
			t.Fatal(err)
		}
		segs, err := w.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(segs) != 1 {
			t.Fatalf("%d segments", len(segs))
		}
		scan := scanOf(columns)
		if got, _ := readAll(t, s, scan, manifest(segs...), 300, 77); !same(got, want) {
			t.Errorf("%+v: other values", o)
		}
		for i, z := range segs[0].Zones {
			if z.Scale != cases[i].scale {
				t.Errorf("%+v: %s: the scale is %d, not %d", o, cases[i].name, z.Scale, cases[i].scale)
			}
			if z.Scale > 0 || z.Nulls == segs[0].Rows {
				scan.Cols[i].Type = types.FixedNumeric(18, max(z.Scale, 1)-1, false)
			}
		}
		for _, n := range []int{1, 7, 77, 64, 8192} {
			if got, _ := readAll(t, s, scan, manifest(segs...), 300, n); !same(got, want) {
				t.Errorf("%+v, batches of %d: other values in fixed point", o, n)
			}
		}
		checkNumericZones(t, segs[0], want)
		scan.Cols[len(cases)-1].Type = types.FixedNumeric(18, 2, false)
		pin := s.Pin(0)
		rd, err := pin.Open(ctx, scan, &store.Splits(manifest(segs...), 0, 0, nil)[0], nil, nil)
		if err == nil {
			if _, err = rd.Next(ctx); err == nil {
				t.Error("long numbers are read in fixed point")
			}
			_ = rd.Close()
		}
		pin.Close()
	}
}

// checkNumericZones compares bounds with the values.
func checkNumericZones(t *testing.T, seg *catalog.Segment, want rows) {
	t.Helper()
	for j, z := range seg.Zones {
		var lo, hi types.Datum
		for _, row := range want {
			v := row[j]
			if v == nil {
				continue
			}
			if lo == nil || types.Compare(types.Numeric, v, lo) < 0 {
				lo = v
			}
			if hi == nil || types.Compare(types.Numeric, v, hi) > 0 {
				hi = v
			}
		}
		if !same(rows{{lo, hi}}, rows{{z.Min, z.Max}}) {
			t.Errorf("column %d is from %v to %v, not %v to %v", z.Column, z.Min, z.Max, lo, hi)
		}
	}
}
