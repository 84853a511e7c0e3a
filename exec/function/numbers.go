package function

import (
	"math"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
)

// A function of one number or two integers, and of no text or memory, runs in a loop over the numbers as they lie, instead of by a Reader and a
// Writer. Where a value fails, the general way begins anew and says what is to be done.

// pollRows is after how many rows of a loop the statement's end is looked at.
const pollRows = 1024

// loops reports whether the values of a call may be computed in a loop, twice where one fails.
func loops(c *Call, v *vector.Vec, of vector.Kind) bool {
	return v.Kind == of && !v.One && (c.Fn == nil || c.Fn.Vol != fn.Volatile)
}

// floatLoop remembers what f made of recent values where these come again: hours, counts and codes made floats are few.
func floatLoop(c *Call, v *vector.Vec, f func(float64) (float64, error)) *vector.Vec {
	if !loops(c, v, vector.F64) || c.Ret.Form() != vector.F64 {
		return nil
	}
	in, out := vector.Values[float64](v), vector.Alloc[float64](c.Arena, c.N)
	var seen floatMemo
	again := 0 // how many of the first rows had a value that was there
	for i := range c.N {
		if i%pollRows == 0 {
			c.Meter().Poll(pollRows * vector.RowWork)
		}
		if i == memoTrial && again < memoTrial*3/4 {
			again = 0
		}
		if c.Skip(i) {
			continue
		}
		var at *memoEntry // nil: values do not come again
		if i < memoTrial || again > 0 {
			b := math.Float64bits(in[i])
			at = &seen[b*memoHash>>(64-memoBits)]
			if at.has && at.x == b {
				out[i] = at.y
				again++
				continue
			}
		}
		y, err := f(in[i])
		if err != nil {
			return nil
		}
		out[i] = y
		if at != nil {
			*at = memoEntry{math.Float64bits(in[i]), y, true}
		}
	}
	return vector.NewFixed(vector.F64, out, c.Valid)
}

// Floats adapts a function of a float8 that is so cheap that a call for each row would be most of its work: f computes it
// of all values, also those of rows that are skipped. slow is for other forms, and for what f returns false for.
func Floats(f func(in, out []float64) bool, slow func(float64) (float64, error)) Impl {
	other := Try1(func(_ *Call, x float64) (float64, error) { return slow(x) })
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		if v := args[0]; loops(c, v, vector.F64) && c.Ret.Form() == vector.F64 {
			out := vector.Alloc[float64](c.Arena, c.N)
			if f(vector.Values[float64](v)[:c.N], out) {
				return vector.NewFixed(vector.F64, out, c.Valid), nil
			}
		}
		return other(c, args)
	}
}

// Doubted is Floats for a function that has errors. f computes it of all values; those rows whose result it
// need not have are computed again by one: where a result is not finite, or with zeros also where it is zero.
func Doubted(f func(out, in []float64), zeros bool, one func(float64) (float64, error)) Impl {
	other := Try1(func(_ *Call, x float64) (float64, error) { return one(x) })
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		v := args[0]
		if !loops(c, v, vector.F64) || c.Ret.Form() != vector.F64 {
			return other(c, args)
		}
		c.Meter().Poll(c.N * vector.RowWork)
		in, out := vector.Values[float64](v)[:c.N], vector.Alloc[float64](c.Arena, c.N)
		f(out, in)
		for i, y := range out {
			if y-y == 0 && !(zeros && y == 0) || c.Skip(i) {
				continue
			}
			var err error
			if out[i], err = one(in[i]); err != nil {
				return other(c, args)
			}
		}
		return vector.NewFixed(vector.F64, out, c.Valid), nil
	}
}

// floatMemo has values of a function of recent values, of which each has one place.
type floatMemo [1 << memoBits]memoEntry

type memoEntry struct {
	x   uint64 // its bits
	y   float64
	has bool
}

const (
	memoBits  = 8
	memoHash  = 0x9e3779b97f4a7c15
	memoTrial = 512 // rows by which it is known whether values come again
)

// integerLoop is of integers, dates and times to such.
func integerLoop(c *Call, v *vector.Vec, f func(*Call, int64) (int64, error)) *vector.Vec {
	in := integers(c, v)
	if in == nil || !loops(c, v, v.Kind) {
		return nil
	}
	return integerRows(c, func(i int) (int64, error) { return f(c, in[i]) })
}

// integerPairs is integerLoop of two arguments, of which one may be the same for all rows.
func integerPairs(c *Call, v, w *vector.Vec, f func(*Call, int64, int64) (int64, error)) *vector.Vec {
	a, b := integers(c, v), integers(c, w)
	switch {
	case a == nil || b == nil || !loops(c, v, v.Kind) && !loops(c, w, w.Kind):
		return nil
	case v.One:
		return integerRows(c, func(i int) (int64, error) { return f(c, a[0], b[i]) })
	case w.One:
		return integerRows(c, func(i int) (int64, error) { return f(c, a[i], b[0]) })
	}
	return integerRows(c, func(i int) (int64, error) { return f(c, a[i], b[i]) })
}

// integerRows runs f for the rows that count; nil where the results are no integers or one fails.
func integerRows(c *Call, f func(i int) (int64, error)) *vector.Vec {
	switch k := c.Ret.Form(); k {
	case vector.I64:
		return integerRowsOf[int64](c, k, f)
	case vector.I32:
		return integerRowsOf[int32](c, k, f)
	case vector.I16:
		return integerRowsOf[int16](c, k, f)
	}
	return nil
}

func integerRowsOf[T int16 | int32 | int64](c *Call, k vector.Kind, f func(i int) (int64, error)) *vector.Vec {
	out := vector.Alloc[T](c.Arena, c.N)
	for i := range out {
		if i%pollRows == 0 {
			c.Meter().Poll(pollRows * vector.RowWork)
		}
		if c.Skip(i) {
			continue
		}
		r, err := f(i)
		if out[i] = T(r); err != nil || int64(out[i]) != r {
			return nil
		}
	}
	return vector.NewFixed(k, out, c.Valid)
}

// integers returns the values of integers of any width; nil if v has others.
func integers(c *Call, v *vector.Vec) []int64 {
	switch v.Kind {
	case vector.I64:
		return vector.Values[int64](v)
	case vector.I32:
		return wide(c, vector.Values[int32](v))
	case vector.I16:
		return wide(c, vector.Values[int16](v))
	}
	return nil
}

func wide[T int16 | int32](c *Call, in []T) []int64 {
	out := vector.Alloc[int64](c.Arena, len(in))
	for i, x := range in {
		out[i] = int64(x)
	}
	return out
}
