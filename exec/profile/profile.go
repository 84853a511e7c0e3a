package profile

import (
	"encoding/binary"
	"math"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// A bin is a byte. The two highest have a meaning of their own.
const (
	Missing  = 255 // NULL
	New      = 254 // a category that training has not seen
	MostBins = 254 // how many others there are at most
)

// Profile is how the features of a model's training rows are distributed.
type Profile struct {
	Rows    int64
	Columns []Column
}

// Column is one feature, or an element of an array.
type Column struct {
	Name string
	// Of numbers: a number less Center lies in the bin that follows as many Edges as are not above it.
	Numeric bool
	Center  float64
	Edges   []float64
	// Of others: each has a bin, and all further ones share one more.
	Categories []string
	Counts     []int64 // of rows by bin
	Missing    int64
}

// Append appends the bytes that Decode reads.
func (p *Profile) Append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.Rows)), uint64(len(p.Columns)))
	for i := range p.Columns {
		c := &p.Columns[i]
		b = appendText(b, c.Name)
		if c.Numeric {
			b = binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(c.Center))
			b = binary.AppendUvarint(b, uint64(len(c.Edges)))
			for _, e := range c.Edges {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e))
			}
		} else {
			b = binary.AppendUvarint(append(b, 0), uint64(len(c.Categories)))
			for _, name := range c.Categories {
				b = appendText(b, name)
			}
		}
		for _, n := range append(c.Counts[:len(c.Counts):len(c.Counts)], c.Missing) {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader reads what was appended; after bytes that nobody appends bad is set, and all values are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > math.MaxInt64 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

// take returns the next n bytes.
func (r *reader) take(n int64) []byte {
	if n > int64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) text() string { return string(r.take(r.number())) }

func (r *reader) float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// count returns the number of things that follow, of at least so many bytes each.
func (r *reader) count(each int) int {
	n := r.number()
	if n > int64(len(r.b)/each) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n)
}

func errDamaged() error { return pgerr.New(pgerr.DataCorrupted, "malformed statistics of features") }

// Decode reads what Append wrote.
func Decode(b []byte) (*Profile, error) {
	r := &reader{b: b}
	p := &Profile{Rows: r.number()}
	for range r.count(4) {
		c := Column{Name: r.text()}
		if kind := r.take(1); kind != nil && kind[0] == 1 {
			c.Numeric, c.Center = true, r.float()
			for range r.count(8) {
				c.Edges = append(c.Edges, r.float())
				if k := len(c.Edges); k > 1 && !(c.Edges[k-2] < c.Edges[k-1]) {
					r.bad = true
				}
			}
		} else {
			for range r.count(1) {
				c.Categories = append(c.Categories, r.text())
			}
		}
		bins := len(c.Edges) + len(c.Categories) + 1
		if bins > MostBins || r.bad {
			return nil, errDamaged()
		}
		for range bins {
			c.Counts = append(c.Counts, r.number())
		}
		c.Missing = r.number()
		p.Columns = append(p.Columns, c)
	}
	if r.bad || len(r.b) > 0 {
		return nil, errDamaged()
	}
	return p, nil
}
