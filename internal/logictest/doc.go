// Package logictest reads, runs and records SQL test files in the format of
// sqllogictest. Records stand apart by an empty line, and # begins a comment.
//
//	statement ok                       statement error (SQLSTATE 22012)
//	CREATE TABLE t (a int)             SELECT 1/0
//
//	query IT rowsort                   connection second
//	SELECT a, b FROM t                 statement ok
//	----                               COMMIT
//	1<TAB>x
//
// A query record has the types of its columns, a letter each (I integers, R numeric, F
// floats, B booleans, T all others), then its rows, with a TAB between columns, as the
// server's text. NULL is NULL and (empty) the empty string; backslash, tab, newline and
// carriage return are written \\, \t, \n, \r. Columns of type F are compared with a
// relative tolerance of 1e-9, the rest exactly; with rowsort in any order. "let $x"
// substitutes the value of its query for $x in later statements; "skipif name" and
// "onlyif name" choose who runs the record that follows.
//
// The engine is an interface here, so that any server can run a file. Answers are
// recorded from a PostgreSQL, never from the engine under test.
package logictest
