// Package jsonfn implements the functions of json and jsonb, the set-returning ones too; paths are
// compiled once a call.
//
// Tested by exec/eval/testdata/json.txt, cluster/node/testdata/corpus/arrays_json.slt.
package jsonfn
