// Package regex runs PostgreSQL's regular expressions (advanced ones, its manual
// 9.7.3). They are rewritten for Go's regexp, which is linear, and simple ones are
// tried over bytes first (direct.go); whether there is a match, a table says (automaton.go);
// what regexp cannot do
// (back references, lookaround) backtracks, with a limit of time, and is charged.
//
// Tested by exec/eval/testdata/strings.txt, cluster/node/testdata/corpus/regex_errors.slt.
package regex
