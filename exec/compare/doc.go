// Package compare orders and compares columns: kernels by kind for the six comparisons,
// three-way comparers of rows for the rest, enums by the place of their labels.
package compare
