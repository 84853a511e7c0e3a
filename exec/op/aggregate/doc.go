// Package aggregate groups rows by their keys, by hash, and computes aggregates of each group:
// GROUP BY, grouping sets, DISTINCT, and the partial and final phases of aggregations that are
// distributed over nodes or begin below joins.
//
//	batch ─▶ keys ─┬─ packed into words (groupcodes.go: dictionary codes, small ranges)
//	               ├─ a range of integers, or of codes of several (rangecodes.go): arrays, no hash (grouprange.go)
//	               ├─ a large dictionary: an array by its indices (groupdict.go)
//	               └─ encoded, longer texts interned        ─▶ group numbers (grouptable.go)
//	      ─▶ arguments ─▶ exec/agg: a state a group, in columns
//
//	a thread's table ─▶ coarser grouping sets from the finer (rollup.go)
//	               ─▶ merge.go: each thread takes a share of all threads' groups,
//	                  but for ranges that only one has (sharedblocks.go)
//	               ─▶ deferred.go, radix.go: rows whose groups hardly repeat, by bits of the hash
//	               ─▶ regrouped.go: aggregates by fewer keys than the groups, in a table of their own
//	               ─▶ exec/partition, where there is no room; merged one by one,
//	                  and one with a group that is too large sorted (sortedgroups.go)
//
// Groups come in no order. A state is merged in any order with the same bits: sums are exact
// (exec/agg). What is held is charged to the thread's account, and is spilled when another operator
// of the statement needs the memory (mem.Account.OnReclaim).
package aggregate
