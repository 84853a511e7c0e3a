package kernel

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

const (
	// encodeRows is up to how many rows the values of a column are made a dictionary: a full batch
	// that reads them is at least a quarter of it, as caches by dictionary value need (Hasher,
	// Packer).
	encodeRows = 4 * ChunkRows
	// encodeBytes bounds the bytes of all strings, since they are copied.
	encodeBytes = 1 << 20
)

// Encode makes the rows of a finished column of few plain strings the values of one dictionary, so
// that Gather copies numbers and results can be cached by value. Equal strings are separate values.
//
//	chunks  [oak, elm] [ash]      dictionary  oak elm ash   chunks  [0 1] [2]
func (c *Column) Encode() {
	if c.lay != layVar || c.Type.Arrow().ID() != arrow.STRING || len(c.chunks) == 0 || len(c.chunks) > encodeRows/ChunkRows {
		return
	}
	rows, size := 0, 0
	for i, ch := range c.chunks {
		if ch.DataType().ID() != arrow.STRING {
			return
		}
		if n := ch.Len(); n > 0 {
			s := &c.strs[i]
			size += int(s.offs[n] - s.offs[0])
		}
		rows += ch.Len()
	}
	if size > encodeBytes || rows == 0 {
		return
	}
	offs, data := make([]int32, 1, rows+1), make([]byte, 0, size)
	for i, ch := range c.chunks {
		n := ch.Len()
		if n == 0 {
			continue
		}
		s := &c.strs[i]
		base := int32(len(data)) - s.offs[0]
		for _, o := range s.offs[1 : n+1] {
			offs = append(offs, base+o)
		}
		data = append(data, s.data[s.offs[0]:s.offs[n]]...)
	}
	values := makeVar(arrow.BinaryTypes.String, offs, data, nil).Data().(*array.Data)
	numbers := iota32(rows)
	one := NewColumn(c.Type)
	for _, ch := range c.chunks {
		n := ch.Len()
		one.Append(makeDict(numbers[:n:n], takeValidAll(ch), values))
		numbers = numbers[n:]
	}
	*c = *one
}
