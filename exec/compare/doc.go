// Package compare orders and compares columns: kernels by kind for the six comparisons,
// three-way comparers of rows for the rest, enums by the place of their labels.
//
// Tested by exec/eval, cluster/node/testdata/sql/equality.txt, cluster/node/testdata/corpus/value_edges.slt.
package compare
