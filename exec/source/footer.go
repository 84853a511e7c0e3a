package source

import "encoding/binary"

// schemaFooter is a file's footer, FileMetaData in Thrift's compact protocol, as the library can read
// it: an annotation of a column that is newer than the library makes it refuse the file. Such
// annotations are taken out; the column is then what it is without (GEOMETRY is bytea), or, where that
// would show the form of its bytes, refused (VARIANT).
type schemaFooter struct {
	text    []byte
	changed bool
	refused map[int]string // of the top columns, by their place, those that cannot be read, and why
}

// Fields of Parquet's Thrift structs.
const (
	fileSchema       = 2  // FileMetaData.schema
	elementChildren  = 5  // SchemaElement.num_children
	elementLogical   = 10 // SchemaElement.logicalType
	logicalFloat16   = 15 // LogicalType: the newest that the library knows
	logicalVariant   = 16
	mostSchemaNested = 1000
)

// knownSchema returns the footer without annotations that the library does not know.
func knownSchema(text []byte) (schemaFooter, error) {
	f := schemaFooter{refused: map[int]string{}}
	t := &thrift{b: text}
	f.text = t.rewrite(func(id int, typ byte) ([]byte, bool) {
		if id == fileSchema && typ == thriftList {
			return f.elements(t), true
		}
		return t.raw(typ), true
	})
	return f, t.err
}

// elements rewrites the schema's elements: the root, and each group before what is in it.
func (f *schemaFooter) elements(t *thrift) []byte {
	head := t.byte()
	out, n := []byte{head}, uint64(head>>4)
	if n == 15 {
		n = t.varint()
		out = binary.AppendUvarint(out, n)
	}
	if head&15 != thriftStruct {
		t.fail(errHead)
	}
	top := -1
	var open []int // of the groups around the next element, how many elements they still have
	for i := uint64(0); i < n && t.err == nil; i++ {
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) == 1 {
			top++
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		children := 0
		out = append(out, t.rewrite(func(id int, typ byte) ([]byte, bool) {
			value := t.raw(typ)
			in := &thrift{b: value}
			switch {
			case id == elementChildren:
				children = in.int(typ)
			case id == elementLogical && typ == thriftStruct:
				kind := 0
				in.fields(func(id int, typ byte) {
					kind = id
					in.skip(typ)
				})
				if kind <= logicalFloat16 {
					break
				}
				if f.changed = true; kind == logicalVariant {
					f.refused[top] = "is of the logical type VARIANT"
				}
				return nil, false
			}
			return value, true
		})...)
		if children > 0 {
			if open = append(open, children); len(open) > mostSchemaNested {
				t.fail(errHead)
			}
		}
	}
	return out
}

// rewrite returns a struct with the fields that f keeps; f reads or skips each.
func (t *thrift) rewrite(f func(id int, typ byte) (value []byte, keep bool)) []byte {
	var out []byte
	last := 0
	t.fields(func(id int, typ byte) {
		value, keep := f(id, typ)
		if !keep {
			return
		}
		if d := id - last; d > 0 && d <= 15 {
			out = append(out, byte(d)<<4|typ)
		} else {
			out = binary.AppendVarint(append(out, typ), int64(id))
		}
		out, last = append(out, value...), id
	})
	return append(out, 0)
}

// raw skips a value and returns its bytes.
func (t *thrift) raw(typ byte) []byte {
	before := t.b
	if t.skip(typ); t.err != nil {
		return nil
	}
	return before[:len(before)-len(t.b)]
}
