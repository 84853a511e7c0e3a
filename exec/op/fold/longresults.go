package fold

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/planner/expr"
)

// HoldsRows reports whether a result of the call contains all rows of its group, as string_agg's and
// array_agg's do.
func HoldsRows(call expr.AggCall) bool {
	switch call.Fn.Name {
	case "array_agg", "jsonb_agg", "jsonb_object_agg":
		return true
	}
	return text(call)
}

// text reports whether results are text that is built by appending each row to one buffer.
func text(call expr.AggCall) bool {
	switch call.Fn.Name {
	case "string_agg", "json_agg", "json_object_agg":
		return true
	}
	return false
}

// length returns how many bytes these rows take in the result, 0 if that is not known before the
// result is made. It counts one separator too many.
func length(call expr.AggCall, cols []arrow.Array) (bytes int64) {
	if call.Distinct {
		return 0
	}
	switch call.Fn.Name {
	case "array_agg":
		if w, fixed := agg.ElementWidth(call.Args[0].Type()); fixed && len(cols) > 0 {
			return (w + 1) * int64(cols[0].Len())
		}
		return 0
	case "string_agg":
	default:
		return 0
	}
	for _, col := range cols[:len(call.Args)] {
		switch col := col.(type) {
		case *array.String:
			bytes += int64(len(col.ValueBytes()))
		case *array.Binary:
			bytes += int64(len(col.ValueBytes()))
		}
	}
	return bytes
}
