// Package fold computes the results of aggregates that keep their rows (agg.Sortable) when these do not
// fit in memory: the rows are sorted on disk, by their group and then in the order that the aggregate
// needs, and the result is computed as the sort returns them. Some aggregates need a second sort.
//
//	rows ─▶ order.NewSort ───────────────────────────────▶ agg.Sorted ─▶ results
//	                   └─▶ resorted ─▶ order.NewSort ─┘   (agg.Resortable)
//
// The rows of groups come from partitions of a hash table (exec/op/aggregate), or are those of a
// window's frame (exec/op/window).
//
// Tested by exec/op/aggregate/sortedgroups_test.go, exec/op/window.
package fold
