// Package jsonpath evaluates SQL/JSON paths over jsonb values. As in PostgreSQL
// 15 lax mode unwraps arrays and ignores missing members, which are errors in
// strict mode; a predicate is true, false or unknown, and unknown where
// evaluating it is an error.
//
// Tested by exec/eval/testdata/json.txt, cluster/node/testdata/corpus/arrays_json.slt.
package jsonpath
