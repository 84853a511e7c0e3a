package feature

import (
	"math"
	"slices"
	"time"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/sql/types"
)

// source gives values by column and row: a leaf of the dataset, or Arrow
// columns. See dataset.View for what its methods mean.
type source interface {
	Numbers(c, from int, dst []float64) (nulls int)
	Bytes(c, i int) []byte
	Array(c, i int, dst []float64) (out []float64, ok bool)
}

// EncodeLeaf makes the block of a leaf's rows, with labels and weights.
// classWeights multiply the weights, by class; nil for none.
func (f *Fitted) EncodeLeaf(s *Spec, v *dataset.View, classWeights []float64) *dataset.Block {
	b := dataset.NewBlock(v.Rows, f.Dense, f.Codes, f.Narrow)
	var cols []int
	for i, c := range s.Cols {
		if c.Role == Feature {
			cols = append(cols, i)
		}
	}
	f.fill(b, v, cols)
	if wc := s.WeightCol(); wc >= 0 {
		v.Numbers(wc, 0, b.W[:v.Rows])
	} else {
		for i := range b.W[:v.Rows] {
			b.W[i] = 1
		}
	}
	lc := s.LabelCol()
	switch {
	case lc < 0:
	case f.Keys == nil:
		v.Numbers(lc, 0, b.Y[:v.Rows])
	default:
		class := make(map[string]int, len(f.Keys))
		for i, k := range f.Keys {
			class[k] = i
		}
		for i := range v.Rows {
			k := class[string(v.Bytes(lc, i))]
			b.Y[i] = float64(k)
			if classWeights != nil {
				b.W[i] = float64(b.W[i] * classWeights[k])
			}
		}
	}
	return b
}

// fill writes features; cols are the source's columns of f.Cols.
func (f *Fitted) fill(b *dataset.Block, src source, cols []int) {
	w := &writer{b: b}
	var dense, code, ones int
	for i := range f.Cols {
		c := &f.Cols[i]
		n, codes := c.shape()
		w.dense, w.code, w.ones = dense, code, int32(ones)
		w.column(c, src, cols[i])
		dense += n
		code += len(codes)
		for _, k := range codes {
			ones += k
		}
	}
}

// writer writes one input column's places in a block.
type writer struct {
	b           *dataset.Block
	dense, code int   // the first of its columns
	ones        int32 // the first of its slots
	buf, ind    [chunkRows]float64
}

func (w *writer) column(c *FitCol, src source, col int) {
	rows := w.b.Rows
	switch c.Encoder {
	case OneHot, Ordinal:
		w.category(c, src, col)
		return
	case Array, PlainArray:
		w.array(c, src, col)
		return
	}
	center, inv := 0.0, 1.0
	if len(c.Center) > 0 {
		center, inv = c.Center[0], 1/c.Scale[0]
	}
	for from := 0; from < rows; from += chunkRows {
		vals := w.buf[:min(chunkRows, rows-from)]
		readNumbers(src, c.Type, col, from, vals)
		switch c.Encoder {
		case Bucketize, QuantileBucketize:
			w.bucket(c, from, vals)
			continue
		case Dates:
			w.dates(c, from, vals)
		}
		ind := w.ind[:len(vals)]
		missing := false
		for i, v := range vals {
			if v-v != 0 {
				vals[i], ind[i], missing = c.Fill, 1, true
			} else {
				ind[i] = 0
			}
		}
		if center != 0 || inv != 1 {
			for i, v := range vals {
				vals[i] = float64((v - center) * inv)
			}
		}
		w.put(w.dense, from, vals)
		if c.Indicator && missing {
			w.put(w.dense+1, from, ind)
		}
	}
}

// put writes numbers of rows from on into dense column j. from is a multiple of
// the lanes.
func (w *writer) put(j, from int, vals []float64) {
	d := w.b.Dense
	at := from*d + j*f64.Lanes
	if w.b.X32 != nil {
		for ; len(vals) > 0; at += d * f64.Lanes {
			n := min(f64.Lanes, len(vals))
			dst := w.b.X32[at : at+n]
			for i, v := range vals[:n] {
				dst[i] = float32(v)
			}
			vals = vals[n:]
		}
		return
	}
	for ; len(vals) > 0; at += d * f64.Lanes {
		n := min(f64.Lanes, len(vals))
		copy(w.b.X64[at:at+n], vals[:n])
		vals = vals[n:]
	}
}

// setCode writes a code of one row; slot -1 for none.
func (w *writer) setCode(code, row int, slot int32) {
	w.b.Code[(row&^(f64.Lanes-1))*w.b.Codes+code*f64.Lanes+row&(f64.Lanes-1)] = slot
}

func (w *writer) bucket(c *FitCol, from int, vals []float64) {
	for i, v := range vals {
		slot := int32(-1)
		if v == v {
			k, found := slices.BinarySearch(c.Bounds, v)
			if found {
				k++ // intervals are closed below
			}
			slot = w.ones + int32(k)
		} else if c.NullSlot {
			slot = w.ones + int32(len(c.Bounds)) + 1
		}
		w.setCode(w.code, from+i, slot)
	}
}

func (w *writer) dates(c *FitCol, from int, days []float64) {
	for i, v := range days {
		month, weekday, hour := int32(-1), int32(-1), int32(-1)
		if v-v == 0 {
			day := math.Floor(v)
			t := time.Unix(int64(day)*86400, 0).UTC()
			month = w.ones + int32(t.Month()) - 1
			weekday = w.ones + 12 + (int32(t.Weekday())+6)%7 // Monday first
			hour = w.ones + 19 + min(int32((v-day)*24), 23)
		}
		w.setCode(w.code, from+i, month)
		w.setCode(w.code+1, from+i, weekday)
		if c.Type.OID != types.DateOID {
			w.setCode(w.code+2, from+i, hour)
		}
	}
}

func (w *writer) category(c *FitCol, src source, col int) {
	find := func(key []byte) int32 {
		if key == nil {
			if c.NullSlot {
				return int32(len(c.Cats))
			}
			return -1
		}
		if k, ok := c.lookup[string(key)]; ok {
			return k
		}
		return -1
	}
	at := func(i int) int32 { return find(src.Bytes(col, i)) }
	if d, ok := src.(*columns); ok {
		at = d.codes(col, find)
	}
	for from := 0; from < w.b.Rows; from += chunkRows {
		vals := w.buf[:min(chunkRows, w.b.Rows-from)]
		for i := range vals {
			k := at(from + i)
			if c.Encoder == Ordinal {
				if int(k) == len(c.Cats) {
					k = -1
				}
				vals[i] = float64(k + 1)
				continue
			}
			if k >= 0 {
				k += w.ones
			}
			w.setCode(w.code, from+i, k)
		}
		if c.Encoder == Ordinal {
			w.put(w.dense, from, vals)
		}
	}
}

func (w *writer) array(c *FitCol, src source, col int) {
	var vals []float64
	place := func(j, row int, v float64) {
		at := (row&^(f64.Lanes-1))*w.b.Dense + (w.dense+j)*f64.Lanes + row&(f64.Lanes-1)
		if w.b.X32 != nil {
			w.b.X32[at] = float32(v)
		} else {
			w.b.X64[at] = v
		}
	}
	for i := range w.b.Rows {
		var ok bool
		vals, ok = src.Array(col, i, vals[:0])
		ok = ok && len(vals) == c.Dim // at prediction another length counts as NULL
		for j := range c.Dim {
			center, scale := 0.0, 1.0
			if len(c.Center) > 0 {
				center, scale = c.Center[j], c.Scale[j]
			}
			v := center
			if ok && vals[j] == vals[j] {
				v = vals[j]
			}
			if c.Encoder == Array {
				v = (v - center) / scale
			}
			place(j, i, v)
		}
		if c.Indicator && !ok {
			place(c.Dim, i, 1)
		}
	}
}
