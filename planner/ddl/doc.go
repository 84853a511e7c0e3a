// Package ddl turns statements that define objects into catalog changes. It is
// pure: it reads one State and gives a Result; the coordinator checks, rewrites
// and commits.
//
//	CREATE TABLE … ─▶ [PutRelation sequence, PutRelation index, PutRelation table]
//	ALTER TABLE … SET NOT NULL ─▶ [PutRelation] + Check (a constraint that the rows must meet)
//	ALTER TABLE … TYPE t USING e ─▶ [PutRelation] + Rewrite (a bound query that gives the new rows)
//
// Expressions are kept as SQL text, bound here once to find errors, and bound
// again by whoever uses them.
package ddl
