package agg

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/types"
)

// TestApproxDistinct: the estimate is near for numbers in a row and for texts, and the same however the
// rows are divided; NULLs are no value.
func TestApproxDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 7, 500, 20000, 300000} {
		text := func(lo, hi int) (arrow.Array, arrow.Array, []uint32) {
			s, i := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
			for k := lo; k < hi; k++ {
				s.Append(fmt.Sprint("w", k))
				i.Append(int64(k))
				s.AppendNull()
				i.AppendNull()
			}
			return s.NewArray(), i.NewArray(), make([]uint32, 2*(hi-lo))
		}
		for name, typ := range map[string]types.Type{"text": types.Text, "bigint": types.Int8} {
			add := func(a *approxDistinct, lo, hi int) {
				s, i, groups := text(lo, hi)
				if typ.OID == types.Int8OID {
					s = i
				}
				if err := a.Update(groups, []arrow.Array{s}); err != nil {
					t.Fatal(err)
				}
			}
			whole, left, right := newApproxDistinct(typ), newApproxDistinct(typ), newApproxDistinct(typ)
			for _, a := range []*approxDistinct{whole, left, right} {
				a.Resize(1)
			}
			add(whole, 0, n)
			add(right, n/3, n)
			add(left, 0, n/2)
			states, err := left.States(0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := right.MergeStates([]uint32{0}, states.(*array.Binary)); err != nil {
				t.Fatal(err)
			}
			result := func(a *approxDistinct) int64 {
				r, err := a.Results(0, 1)
				if err != nil {
					t.Fatal(err)
				}
				return r.(*array.Int64).Value(0)
			}
			got := result(whole)
			if math.Abs(float64(got-int64(n))) > 0.1*float64(n) {
				t.Errorf("%s: %d distinct values are estimated as %d", name, n, got)
			}
			if parts := result(right); parts != got {
				t.Errorf("%s: %d of parts, %d of all", name, parts, got)
			}
		}
	}
	for _, bad := range [][]byte{make([]byte, 3), append(make([]byte, 1023), 65)} {
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		b.Append(bad)
		a := newApproxDistinct(types.Text)
		a.Resize(1)
		if err := a.MergeStates([]uint32{0}, b.NewArray().(*array.Binary)); err == nil {
			t.Error("a damaged state is taken")
		}
	}
}
