// Package f32 holds the matrix loops of neural networks: float32 arithmetic, row
// by row, with one result on every machine.
//
//	C [m×n] = A [m×k] · B [k×n]      c[i][j] is one chain of fused multiply-adds
//	                                 over k, ascending: vectors run along j
//	Exp, Tanh, Sigmoid               polynomials of our own (math.go), their errors
//	                                 bounded in units in the last place
//
// As in package f64 every kernel is defined by its Go twin, and tests compare
// all bits; the payload of a NaN is not defined. Because a chain's order does not
// depend on how the loops around it are cut, results do not depend on blocking
// or on the number of goroutines.
//
// The kernels (go generate) make tiles of six rows and two registers of columns,
// for AVX2 or AVX-512 as package f64 chose, narrower ones of what is left beside
// these, and loops over cells of an LSTM for both; functions alone take eight numbers at a
// time. Without them (other processors, the build tag noasm) the twins run.
package f32
