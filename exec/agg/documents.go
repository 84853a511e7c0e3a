package agg

import (
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// documents writes json_agg and json_object_agg of the rows of each of n groups, as jsonFold and jsonObjectFold do, one
// after the other into the result; NULL of none.
func (s *ordered) documents(cols []arrow.Array, groups []uint32, n int) (arrow.Array, error) {
	object := len(s.args) > 1
	begin, between, end := "[", ", ", "]"
	switch {
	case object:
		begin, end = "{ ", " }"
	case s.args[0].Form() == types.FormNested:
		between = ", \n "
	}
	value := s.jsonAt(cols, len(s.args)-1)
	var name func(dst []byte, i int) ([]byte, error)
	if object {
		if cols[0].NullN() > 0 {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "field name must not be null")
		}
		name = s.nameAt(cols[0])
	}
	out, offs, valid := []byte(nil), make([]int32, 1, n+1), make([]byte, batch.BitmapBytes(n))
	at := 0
	for g := range n {
		for first := true; at < len(groups) && groups[at] == uint32(g); at++ {
			switch {
			case first:
				batch.SetBit(valid, g)
				out, first = append(out, begin...), false
			case !object && cols[0].IsNull(at):
				out = append(out, ", "...)
			default:
				out = append(out, between...)
			}
			var err error
			if object {
				if out, err = name(out, at); err != nil {
					return nil, err
				}
				out = append(out, " : "...)
			}
			if out, err = value(out, at); err != nil {
				return nil, err
			}
		}
		if batch.Bit(valid, g) {
			out = append(out, end...)
		}
		if len(out) > maxBytes {
			return nil, errTooLong(int64(len(out)))
		}
		offs = append(offs, int32(len(out)))
	}
	return batch.FromOffsets(s.call.Typ.Arrow(), offs, out, valid), nil
}

// jsonAt writes the values of a column as json.
func (s *ordered) jsonAt(cols []arrow.Array, k int) func(dst []byte, i int) ([]byte, error) {
	t := s.args[k]
	switch a := kernel.Flatten(cols[k]).(type) {
	case *array.String:
		if t.OID == types.TextOID || t.OID == types.VarcharOID {
			return func(dst []byte, i int) ([]byte, error) {
				if a.IsNull(i) {
					return append(dst, "null"...), nil
				}
				return json.AppendString(dst, a.Value(i)), nil
			}
		}
	case *array.Int64:
		if t.IsInteger() || t.IsFixed() {
			return func(dst []byte, i int) ([]byte, error) {
				switch {
				case a.IsNull(i):
					return append(dst, "null"...), nil
				case t.IsFixed():
					return number.DecimalFromInt64(a.Value(i), int32(t.Scale)).AppendText(dst), nil
				}
				return strconv.AppendInt(dst, a.Value(i), 10), nil
			}
		}
	}
	col := cols[k]
	return func(dst []byte, i int) ([]byte, error) {
		return types.AppendJSON(dst, t, types.DatumAt(t, col, i), s.env)
	}
}

// nameAt writes the values of the first column, none NULL, as names.
func (s *ordered) nameAt(col arrow.Array) func(dst []byte, i int) ([]byte, error) {
	t := s.args[0]
	if a, ok := kernel.Flatten(col).(*array.String); ok && (t.OID == types.TextOID || t.OID == types.VarcharOID) {
		return func(dst []byte, i int) ([]byte, error) { return json.AppendString(dst, a.Value(i)), nil }
	}
	var text []byte
	return func(dst []byte, i int) ([]byte, error) {
		text = types.AppendText(text[:0], t, types.DatumAt(t, col, i), s.env)
		return types.AppendJSON(dst, types.Text, string(text), s.env)
	}
}
