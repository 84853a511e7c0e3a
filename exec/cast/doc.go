// Package cast converts between types. Between chooses how from the two types; a
// Conversion runs it over columns.
//
// Tested by exec/eval/testdata/casts.txt, cluster/node/testdata/corpus/casts_sets.slt.
package cast
