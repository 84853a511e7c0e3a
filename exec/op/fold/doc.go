// Package fold computes the results of aggregates that keep their rows (agg.Sortable) where memory does
// not hold these: the rows are sorted by their group and as the aggregate wants them, and the result is
// found as they come out.
//
//	rows ─▶ order.NewSort ───────────────────────────────▶ agg.Sorted ─▶ results
//	                   └─▶ resorted ─▶ order.NewSort ─┘   (agg.Resortable)
//
// The rows of groups come from partitions of a hash table (exec/op/aggregate), or are those of a
// window's frame (exec/op/window).
package fold
