package source

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/json"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// writeJSON appends the JSON of a row's value.
type writeJSON func(dst []byte, row int) []byte

// convertNested makes jsonb of a column that has no type of its own: structs are objects, lists
// arrays, maps arrays of a key and a value. What is in them is written as to_jsonb() writes it.
func convertNested(arr arrow.Array, dt arrow.DataType) (arrow.Array, error) {
	w, err := nestedWriter(arr)
	if err != nil {
		return nil, err
	}
	var text []byte
	offs := make([]int32, 1, arr.Len()+1)
	var data []byte
	for i := range arr.Len() {
		if arr.IsValid(i) {
			text = w(text[:0], i)
			s, err := json.CanonicalJSONB(string(text))
			if err != nil {
				return nil, err
			}
			if len(data)+len(s) > 1<<31-1 {
				return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the values of a batch are too long")
			}
			data = append(data, s...)
		}
		offs = append(offs, int32(len(data)))
	}
	return batch.FromOffsets(dt, offs, data, validity(arr)), nil
}

func nestedWriter(arr arrow.Array) (writeJSON, error) {
	var w writeJSON
	switch a := arr.(type) {
	case *array.Struct:
		of := a.DataType().(*arrow.StructType)
		fields := make([]writeJSON, a.NumField())
		for i := range fields {
			var err error
			if fields[i], err = nestedWriter(a.Field(i)); err != nil {
				return nil, err
			}
		}
		w = func(dst []byte, row int) []byte {
			dst = append(dst, '{')
			for i, f := range fields {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(json.AppendString(dst, of.Field(i).Name), ':')
				dst = f(dst, row)
			}
			return append(dst, '}')
		}
	case *array.Map:
		keys, err := nestedWriter(a.Keys())
		if err != nil {
			return nil, err
		}
		items, err := nestedWriter(a.Items())
		if err != nil {
			return nil, err
		}
		w = listWriter(a, func(dst []byte, row int) []byte {
			dst = keys(append(dst, `{"key":`...), row)
			dst = items(append(dst, `,"value":`...), row)
			return append(dst, '}')
		})
	case array.ListLike:
		e, err := nestedWriter(a.ListValues())
		if err != nil {
			return nil, err
		}
		w = listWriter(a, e)
	default:
		t := sqlType(arr.DataType())
		if t.OID == types.JSONBOID {
			return nil, pgerr.Unsupported("columns of %s are not supported", arr.DataType())
		}
		c, err := convert(arr, t)
		if err == nil {
			err = checkStrings(c)
		}
		if err != nil {
			return nil, err
		}
		w = func(dst []byte, row int) []byte {
			dst, _ = types.AppendJSON(dst, t, types.DatumAt(t, c, row), nil) // which scalars cannot fail
			return dst
		}
	}
	return func(dst []byte, row int) []byte {
		if arr.IsNull(row) {
			return append(dst, "null"...)
		}
		return w(dst, row)
	}, nil
}

func listWriter(a array.ListLike, e writeJSON) writeJSON {
	return func(dst []byte, row int) []byte {
		dst = append(dst, '[')
		from, to := a.ValueOffsets(row)
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			dst = e(dst, int(i))
		}
		return append(dst, ']')
	}
}
