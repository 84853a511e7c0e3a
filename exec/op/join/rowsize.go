package join

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// colSize is how many bytes the rows of an array take where they are copied,
// dictionary columns as plain strings.
type colSize struct {
	fixed  int64
	offs   []int32 // of strings; nil: none
	index  []int32 // through a dictionary
	nested arrow.Array
	widest int64 // row, at most
}

// dictWidth is what sizeOf remembers of a column's last dictionary: the bytes of its widest
// value, 0 where that is not known. Batch after batch has the same one.
type dictWidth struct {
	of     *array.Data
	widest int64
}

// sizeOf returns the sizes of a column's next array; last may be nil.
func sizeOf(arr arrow.Array, last *dictWidth) colSize {
	var c colSize
	switch a := arr.(type) {
	case *array.String:
		c = colSize{fixed: 4, offs: a.ValueOffsets()}
	case *array.Binary:
		c = colSize{fixed: 4, offs: a.ValueOffsets()}
	case *array.Dictionary:
		c.fixed = 4
		if idx, ok := a.Indices().(*array.Int32); ok {
			if d := dictStrings(a); d != nil {
				c.offs, c.index = d.ValueOffsets(), idx.Int32Values()
			}
		}
		again := false
		if d, _ := a.Data().Dictionary().(*array.Data); last != nil {
			if again = last.of == d; !again {
				*last = dictWidth{of: d}
			}
			if last.widest > 0 {
				c.widest = last.widest
				return c
			}
		}
		if len(c.index) < len(c.offs) && !again {
			for i := range c.index {
				c.widest = max(c.widest, c.at(i))
			}
			return c
		}
	case *array.List, *array.Struct:
		c.nested = arr
		for i := range arr.Len() {
			c.widest = max(c.widest, valueBytes(arr, i))
		}
		return c
	default:
		c.fixed = fixedBytes(arr.DataType())
	}
	long := int32(0)
	for i := 1; i < len(c.offs); i++ {
		long = max(long, c.offs[i]-c.offs[i-1])
	}
	c.widest = c.fixed + int64(long)
	if last != nil && c.index != nil {
		last.widest = c.widest
	}
	return c
}

// at returns the bytes of row i.
func (c *colSize) at(i int) int64 {
	if c.nested != nil {
		return valueBytes(c.nested, i)
	}
	if c.index != nil {
		i = int(c.index[i])
	}
	if i+1 < len(c.offs) {
		return c.fixed + int64(c.offs[i+1]-c.offs[i])
	}
	return c.fixed
}

func fixedBytes(dt arrow.DataType) int64 {
	if f, ok := dt.(arrow.FixedWidthDataType); ok {
		return int64(f.BitWidth()+7) / 8
	}
	return 0
}

// dictStrings returns the strings of a dictionary column, nil where it has none.
// It leaves the column as it is, which others may be reading.
func dictStrings(a *array.Dictionary) *array.String {
	d, _ := a.Data().Dictionary().(*array.Data)
	if d == nil || d.DataType().ID() != arrow.STRING {
		return nil
	}
	return array.NewStringData(d)
}

func valueBytes(arr arrow.Array, i int) int64 {
	switch a := arr.(type) {
	case *array.String:
		return 4 + int64(a.ValueLen(i))
	case *array.Binary:
		return 4 + int64(a.ValueLen(i))
	case *array.List:
		from, to := a.ValueOffsets(i)
		n := int64(4)
		kid := a.ListValues()
		if f, ok := kid.DataType().(arrow.FixedWidthDataType); ok && kid.DataType().ID() != arrow.DICTIONARY {
			return n + (to-from)*int64(f.BitWidth()+7)/8
		}
		for k := from; k < to; k++ {
			n += valueBytes(kid, int(k))
		}
		return n
	case *array.Struct:
		n := int64(0)
		for f := range a.NumField() {
			n += valueBytes(a.Field(f), i)
		}
		return n
	case *array.Dictionary:
		if d := dictStrings(a); d != nil && a.IsValid(i) {
			return 4 + int64(d.ValueLen(a.GetValueIndex(i)))
		}
		return 4
	}
	return fixedBytes(arr.DataType())
}
