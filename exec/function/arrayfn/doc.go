// Package arrayfn implements the functions of arrays, which have one dimension.
//
// Tested by exec/eval/testdata/arrays.txt, cluster/node/testdata/corpus/arrays_json.slt.
package arrayfn
