package f64

import "math"

// wholeShift rounds a number below 2^51 in size to an integer when it is added.
const wholeShift = 0x1.8p52

// AddWhole adds to sums, by column of whole tiles x, x·scale rounded to the nearest integers,
// which are below 2^50 in size: sums do not depend on the order of rows.
func AddWhole(sums []int64, x, scale []float64) {
	d := len(scale)
	if d == 0 || len(x) < d*Lanes {
		return
	}
	_ = sums[d-1]
	addWhole(sums, x, scale)
	// The bits of wholeShift were added for each row, too; they wrap around.
	rows := uint64(len(x) / d)
	for j := range scale {
		sums[j] -= int64(rows * math.Float64bits(wholeShift))
	}
}

func addWholeGo(sums []int64, x, scale []float64) {
	d := len(scale)
	for at := 0; at < len(x); at += d * Lanes {
		for j, s := range scale {
			for _, v := range x[at+j*Lanes:][:Lanes] {
				sums[j] += int64(math.Float64bits(float64(v*s) + wholeShift))
			}
		}
	}
}
