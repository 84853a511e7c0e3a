// Package agg holds the states of aggregates, column-wise: one Agg keeps the
// states of all groups of one aggregate call, and takes a whole batch at a time.
//
//	rows ─▶ group numbers ─▶ Update(groups, args)      state[g] ⊕= arg
//	states of another node or thread ─▶ MergeStates      state[g] ⊕= state'
//	States ─▶ encoded partial states (bytea)           Results ─▶ values
//
// The common aggregates keep flat slices; those that need all their rows
// (ordered, DISTINCT, percentiles, …) collect them (collect.go), as keys of
// 64 bits where that is enough (keyedvalues.go). Which rows
// count (FILTER, NULL keys) is decided before.
package agg
