package fold

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/planner/expr"
)

// HoldsRows reports whether the results of a call hold all rows of their groups.
func HoldsRows(call expr.AggCall) bool {
	switch call.Fn.Name {
	case "array_agg", "jsonb_agg", "jsonb_object_agg":
		return true
	}
	return text(call)
}

// text reports whether results are one buffer, to which each row is appended.
func text(call expr.AggCall) bool {
	switch call.Fn.Name {
	case "string_agg", "json_agg", "json_object_agg":
		return true
	}
	return false
}

// length is how many bytes rows are in the result, 0 where that is not known before it is made. One
// separator more than there is counts.
func length(call expr.AggCall, cols []arrow.Array) (bytes int64) {
	if call.Fn.Name != "string_agg" || call.Distinct {
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
