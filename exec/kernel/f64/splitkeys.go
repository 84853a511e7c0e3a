package f64

import "math"

// ScoreKey returns an integer that orders as x does, NaNs first; 0 and -0 tie.
func ScoreKey(x float64) uint64 {
	if x != x {
		return 0
	}
	b := math.Float64bits(x + 0)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// SideRows is how long a and b of SplitKeys are at least.
const SideRows = Lanes

// SplitKeys puts the keys of the scores of the second label to b and those of the other to a,
// and returns how many are in a and the least and the greatest key of all. a and b are as
// long as v, or SideRows long where no row is of their label; what comes after the keys there
// is overwritten.
func SplitKeys(a, b []uint64, v []float64, label []uint32, second uint32) (na int, least, most uint64) {
	n := len(v) &^ (Lanes - 1)
	_ = label[:len(v)]
	least = math.MaxUint64
	if n > 0 {
		na, least, most = splitKeys(a, b, v[:n], label[:n], second)
	}
	rest, low, high := splitKeysGo(a[na:], b[n-na:], v[n:], label[n:], second)
	return na + rest, min(least, low), max(most, high)
}

// Each key is stored to both and counted in one: there is no branch to mispredict.
func splitKeysGo(a, b []uint64, v []float64, label []uint32, second uint32) (na int, least, most uint64) {
	nb := 0
	least = math.MaxUint64
	for i, x := range v {
		k := ScoreKey(x)
		least, most = min(least, k), max(most, k)
		a[na], b[nb] = k, k
		is := 0
		if label[i] == second {
			is = 1
		}
		nb += is
		na += 1 - is
	}
	return na, least, most
}

// WhichOfTwo sets out to 1 where v is second, else to 0, and reports whether all v are
// first or second.
func WhichOfTwo[T int16 | int32 | int64 | float64](out []uint32, v []T, first, second T) bool {
	n, ok := 0, true
	if v, wide := any(v).([]int64); wide {
		if n = len(v) &^ (Lanes - 1); n > 0 {
			ok = whichOfTwo(out[:n], v[:n], int64(first), int64(second))
		}
	}
	return whichOfTwoGo(out[n:len(v)], v[n:], first, second) && ok
}

func whichOfTwoGo[T int16 | int32 | int64 | float64](out []uint32, v []T, first, second T) bool {
	others := uint32(0)
	for i, x := range v {
		var isFirst, isSecond uint32
		if x == first {
			isFirst = 1
		}
		if x == second {
			isSecond = 1
		}
		out[i] = isSecond
		others |= (isFirst | isSecond) ^ 1
	}
	return others == 0
}

// Likelier sets out to second where p > 1-p, else to first.
func Likelier[T int16 | int32 | int64](out []T, p []float64, first, second T) {
	n := 0
	if out, wide := any(out).([]int64); wide {
		if n = len(p) &^ (Lanes - 1); n > 0 {
			likelier(out[:n], p[:n], int64(first), int64(second))
		}
	}
	likelierGo(out[n:len(p)], p[n:], first, second)
}

func likelierGo[T int16 | int32 | int64](out []T, p []float64, first, second T) {
	of := [2]T{first, second}
	for i, v := range p {
		k := 0
		if v > 1-v {
			k = 1
		}
		out[i] = of[k&1]
	}
}

// CountTwo counts the rows of which a is 1, b is, and both are; ok is false where one is neither
// 0 nor 1. There are less than 2^31.
func CountTwo(a, b []uint32) (ofA, ofB, both uint32, ok bool) {
	n, any := len(a)&^(Lanes-1), uint32(0)
	b = b[:len(a)]
	if n > 0 {
		ofA, ofB, both, any = countTwo(a[:n], b[:n])
	}
	x, y, z, more := countTwoGo(a[n:], b[n:])
	return ofA + x, ofB + y, both + z, any|more <= 1
}

func countTwoGo(a, b []uint32) (ofA, ofB, both, any uint32) {
	for i, x := range a {
		y := b[i]
		ofA += x
		ofB += y
		both += x & y
		any |= x | y
	}
	return ofA, ofB, both, any
}
