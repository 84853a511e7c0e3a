// Package timefn implements the functions of dates, times and intervals.
//
// Tested by exec/eval/testdata/datetime.txt, cluster/node/testdata/corpus/datetime.slt.
package timefn
