// Package mysql translates statements of the MySQL dialect: Vitess parses them,
// and each node of its tree, which never leaves this package, is written as the
// Postgres text of the same meaning, which the Postgres grammar parses. The
// same text often means something else in the two dialects:
//
//	a || b          a OR b                     "x"        the string x
//	a / b           a * 1.0 / NULLIF(b, 0)     a <=> b    a IS NOT DISTINCT FROM b
//	WHERE a         WHERE a <> 0               SUM(a = b) SUM((a = b)::int)
//	CONCAT(a, b)    a::text || b::text         ORDER BY a ORDER BY a NULLS FIRST
//
// Names are folded to lower case whether quoted or not, as a MySQL server does
// with lower_case_table_names = 1, so that both dialects see the same tables.
// Strings compare by their bytes, as under utf8mb4_bin. What has no equal is
// refused with 0A000; what has no effect here (ENGINE=, plain KEY) is noted.
//
// Tested by sql/parse/dialect_test.go, cluster/node/testdata/sql/mysql.txt.
package mysql
