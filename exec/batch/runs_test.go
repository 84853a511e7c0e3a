package batch_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
)

// TestValidRuns: the runs of rows that are not NULL equal those found by testing each row, wherever
// in its bitmap an array begins and ends.
func TestValidRuns(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 2000 {
		n := r.Intn(300)
		valid := make([]byte, batch.BitmapBytes(n))
		nulls := r.Intn(4) // of four rows
		for i := range n {
			if r.Intn(4) >= nulls || r.Intn(40) == 0 {
				batch.SetBit(valid, i)
			}
		}
		var arr arrow.Array = batch.FromSlice(arrow.PrimitiveTypes.Int32, make([]int32, n), valid)
		from := r.Intn(n + 1)
		to := from + r.Intn(n-from+1)
		arr = array.NewSlice(arr, int64(from), int64(to))
		seen, end := make([]bool, arr.Len()), -1
		batch.ValidRuns(arr, func(from, to int) {
			if from <= end || from >= to {
				t.Fatalf("run [%d, %d) after %d", from, to, end)
			}
			for i := from; i < to; i++ {
				seen[i] = true
			}
			end = to
		})
		for i, is := range seen {
			if is == arr.IsNull(i) {
				t.Fatalf("row %d of %d is valid: %v, found %v", i, arr.Len(), arr.IsValid(i), is)
			}
		}
	}
}

// TestTrues: the rows found are those that are true, wherever in its bitmaps an array begins and ends.
func TestTrues(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 2000 {
		n := r.Intn(300)
		vals, valid := make([]byte, batch.BitmapBytes(n)), make([]byte, batch.BitmapBytes(n))
		r.Read(vals)
		if r.Read(valid); r.Intn(2) == 0 {
			valid = nil
		}
		from := r.Intn(n + 1)
		arr := array.NewSlice(batch.FromBits(vals, valid, n), int64(from), int64(from+r.Intn(n-from+1))).(*array.Boolean)
		var want []int32
		for i := range arr.Len() {
			if arr.IsValid(i) && arr.Value(i) {
				want = append(want, int32(i))
			}
		}
		if got := batch.Trues(nil, arr); !slices.Equal(got, want) {
			t.Fatalf("%d rows from %d on: %v, want %v", arr.Len(), from, got, want)
		}
	}
}
