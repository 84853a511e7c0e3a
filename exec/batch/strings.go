package batch

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Strings reads a string column in either of its forms. The zero value is not
// usable; make it with StringsOf.
type Strings struct {
	Plain *array.String
	// Index and Values are set instead of Plain for a dictionary: the string
	// of row i is Values.Value(Index[i]).
	Index  []int32
	Values *array.String
	arr    arrow.Array
}

// StringsOf returns access to a String or Dictionary(int32, String) column.
func StringsOf(arr arrow.Array) Strings {
	switch a := arr.(type) {
	case *array.String:
		return Strings{Plain: a, arr: arr}
	case *array.Dictionary:
		idx := a.Indices().(*array.Int32)
		return Strings{Index: idx.Int32Values(), Values: a.Dictionary().(*array.String), arr: arr}
	}
	panic("BUG: batch.StringsOf on " + arr.DataType().String())
}

// Value returns the string of row i, "" for NULL. It aliases the column's memory.
func (s Strings) Value(i int) string {
	if s.Plain != nil {
		return s.Plain.Value(i)
	}
	if s.arr.IsNull(i) {
		return ""
	}
	return s.Values.Value(int(s.Index[i]))
}

// IsNull reports whether row i is NULL.
func (s Strings) IsNull(i int) bool { return s.arr.IsNull(i) }
