// Package f64 holds the numeric loops of training: float64 arithmetic over
// float32 or float64 data, with one result on every machine.
//
// Data lie in tiles of eight rows, column by column within a tile, so that
// eight rows are one AVX-512 register (two of AVX2, four of NEON) and a row's
// margin is a plain chain of fused multiply-adds, without a horizontal sum:
//
//	tile t of a block with d columns, x[t*8*d:]
//	  column 0: row 8t+0 8t+1 … 8t+7
//	  column 1: row 8t+0 8t+1 … 8t+7
//	  …
//
// The last tile is filled up with rows of zeros and weight zero.
//
// The same bits everywhere. Every kernel is defined by its Go twin (twin.go,
// columns.go, math.go): the number of lanes is Lanes, lane l takes the rows 8t+l
// in ascending order, each step is one math.FMA or one rounded operation, and
// lanes are folded by fold in one fixed shape. The assembly does these very
// operations in this very order, eight lanes at a time; tests compare all
// bits. Which body runs is chosen once at start from the processor's features
// (the build tag noasm keeps the twin). Results with NaN are NaN everywhere,
// but the payload of a NaN is not defined.
//
// Coarse products (coarse.go) are of columns as bytes, and their sums integers.
//
// Stays alone is not defined to the bit: it decides in float32 which rows are certain, and no
// result depends on how many those are.
//
// Sums of products outside this package must not be written x*y+z: Go may fuse
// that on one machine and not on another. Use FMA, or float64(x*y)+z.
//
// exp, log and log1p are polynomials of our own (math.go), since package math
// uses assembly on some machines; their error is below two units in the last
// place, tested against big floats.
package f64
