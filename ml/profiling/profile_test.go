package profiling

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

// TestHistogramsMerge: the histogram of numbers does not depend on how they are divided, though low bits are dropped.
func TestHistogramsMerge(t *testing.T) {
	for _, n := range []int{10, 3000, 60000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var all, part keyCounts
		var sum histogram
		var values []float64
		for i := range n {
			v := float32(r.NormFloat64() * math.Exp(4*r.NormFloat64()))
			values = append(values, float64(v))
			all.add(keyOf(v))
			part.add(keyOf(v))
			if i%997 == 0 {
				sum = part.take().merge(sum)
			}
		}
		sum = sum.merge(part.take())
		want := all.take()
		if !reflect.DeepEqual(sum, want) || len(want.items) > histogramSize {
			t.Fatalf("of %d numbers another histogram, of %d and %d intervals", n, len(sum.items), len(want.items))
		}
		edges, counts := want.bins(40)
		found := make([]int64, len(counts))
		for _, v := range values {
			found[binOf(edges, v)]++
		}
		if !reflect.DeepEqual(found, counts) {
			t.Fatalf("of %d numbers %v are in the bins, not %v", n, found, counts)
		}
		if n > 1000 && slices.Max(counts) > int64(n/20) {
			t.Errorf("of %d numbers %d are in one of %d bins", n, slices.Max(counts), len(counts))
		}
	}
}

// TestDamagedDrafts are refused, or merged without a panic.
func TestDamagedDrafts(t *testing.T) {
	var k keyCounts
	for i := range 50 {
		k.add(keyOf(float32(i)))
	}
	d := &Draft{Rows: 50, Cols: []draftCol{{numbers: k.take()}, {missing: 3, slots: []int64{1, 2, 3}}}}
	var e canon.E
	d.Encode(&e)
	if got := DecodeDraft(canon.Read(e.B)); !reflect.DeepEqual(got, d) {
		t.Errorf("%+v", got)
	}
	for n := range e.B {
		bad := slices.Clone(e.B)
		bad[n] ^= 0xff
		for _, b := range [][]byte{bad, e.B[:n]} {
			r := canon.Read(b)
			if got := DecodeDraft(r); r.OK() {
				MergeDrafts(got, d)
			}
		}
	}
}
