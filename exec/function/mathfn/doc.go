// Package mathfn implements the functions of numbers: arithmetic, numeric, and the
// transition functions of statistical aggregates.
package mathfn
