package function

import (
	"math"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
)

// A function of one number, and of no text or memory, runs in a loop over the numbers as they lie, instead of by a Reader and a
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

// integerLoop is of integers and times of 64 bits to such or, as to dates, to 32 bits.
func integerLoop(c *Call, v *vector.Vec, f func(*Call, int64) (int64, error)) *vector.Vec {
	form := c.Ret.Form()
	if !loops(c, v, vector.I64) || form != vector.I64 && form != vector.I32 {
		return nil
	}
	in := vector.Values[int64](v)
	var long []int64
	var short []int32
	if form == vector.I64 {
		long = vector.Alloc[int64](c.Arena, c.N)
	} else {
		short = vector.Alloc[int32](c.Arena, c.N)
	}
	for i := range c.N {
		if c.Skip(i) {
			continue
		}
		r, err := f(c, in[i])
		switch {
		case err != nil:
			return nil
		case long != nil:
			long[i] = r
		case int64(int32(r)) != r:
			return nil
		default:
			short[i] = int32(r)
		}
		if i%pollRows == 0 {
			c.Meter().Poll(pollRows * vector.RowWork)
		}
	}
	if form == vector.I64 {
		return vector.NewFixed(vector.I64, long, c.Valid)
	}
	return vector.NewFixed(vector.I32, short, c.Valid)
}
