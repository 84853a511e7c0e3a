package feature

import "github.com/apache/arrow/go/v15/arrow"

// Reader reads the Arrow columns of features as their encoders do. It is for one goroutine.
type Reader struct {
	f   *Fitted
	src columns
}

// NewReader makes one for the features of f.
func NewReader(f *Fitted) *Reader {
	r := &Reader{f: f}
	for i := range f.Cols {
		r.src.typ = append(r.src.typ, f.Cols[i].Type)
	}
	return r
}

// Reset makes cols, of the features' types, those that are read.
func (r *Reader) Reset(cols []arrow.Array) { r.src.cols = cols }

// Numbers sets dst to the numbers of feature c from a row on, before they are centred and scaled; NaN or an infinity
// where there is none.
func (r *Reader) Numbers(c, from int, dst []float64) {
	col := &r.f.Cols[c]
	readNumbers(&r.src, col.Type, col.Encoder, c, from, dst)
}

// Text returns the category of feature c in row i as its type's output text.
func (r *Reader) Text(c, i int) string { return keyText(r.f.Cols[c].Type, r.src.Bytes(c, i)) }
