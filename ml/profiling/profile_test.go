package profiling

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
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

// TestTallies: what is counted side by side in blocks is what counting one number after the other gives, for columns of
// more keys than a tally has pages for, too.
func TestTallies(t *testing.T) {
	const cols = 4*columnsAtOnce + 3
	for form := range 4 {
		narrow, low := form%2 == 0, uint8(form/2*2)
		r := rand.New(rand.NewPCG(3, 3))
		d := &Drafter{scratch: &keyCounts{}, centers: make([]float64, cols)}
		want, missing := make([]keyCounts, cols), make([]int64, cols)
		d.draft.Cols = make([]draftCol, cols)
		for k := range cols {
			d.cols, d.tallies = append(d.cols, profiled{dense: k, null: -1}), append(d.tallies, &tally{low: low})
			d.centers[k] = float64(k % 3)
		}
		d.cols[2].null = 5
		for n := range 5 {
			b := block.New(3000+n, cols, 0, narrow)
			var weights []float64
			if n%2 == 1 {
				weights = b.W[:b.Rows]
			}
			for i := range b.Rows {
				b.W[i] = float64(r.IntN(3))
				for k := range cols {
					v := r.NormFloat64()
					switch {
					case k == 1:
						v = math.Exp(60 * v) // of any size
					case k == 4 && r.IntN(5) == 0:
						v = math.NaN()
					case k == 5:
						v = float64(r.IntN(2))
					}
					at := (i/f64.Lanes*cols+k)*f64.Lanes + i%f64.Lanes
					if narrow {
						v = float64(float32(v))
						b.X32[at] = float32(v)
					} else {
						b.X64[at] = v
					}
				}
				for k := range cols {
					v := b.Value(i, k)
					switch {
					case weights != nil && b.W[i] == 0:
					case v != v || k == 2 && b.Value(i, 5) != 0:
						missing[k]++
					default:
						want[k].add(keyOf(float32(v - d.centers[k])))
					}
				}
			}
			if narrow {
				numbers(d, b.X32, b, weights)
			} else {
				numbers(d, b.X64, b, weights)
			}
			if n == 2 {
				d.settle()
			}
		}
		got := d.Draft()
		for k := range cols {
			if c := &got.Cols[k]; c.missing != missing[k] || !reflect.DeepEqual(c.numbers, want[k].take().atLeast(low)) {
				t.Errorf("narrow %v, without %d bits: column %d differs, %d are missing, not %d", narrow, low, k, c.missing, missing[k])
			}
		}
	}
}

// atLeast returns the histogram without so many low bits, if it has them.
func (h histogram) atLeast(low uint8) histogram {
	for h.low < low {
		out := histogram{low: h.low + 1}
		for _, it := range h.items {
			out.put(keyCount{it.key >> 1, it.n})
		}
		h = out
	}
	return h
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
