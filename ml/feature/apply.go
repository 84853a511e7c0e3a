package feature

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/numbering"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/words"
	"github.com/tributarydb/tributary/sql/types"
)

// source returns values by column and row: a leaf of the dataset, or Arrow columns. See
// record.View for what its methods mean.
type source interface {
	Numbers(c, from int, dst []float64) (nulls int)
	Bytes(c, i int) []byte
	Array(c, i int, dst []float64) (out []float64, ok bool)
}

// coded is a source whose rows hold numbers of keys, as a dictionary column does. codes
// returns a function from a row to find(key of the row), nil being the key of NULL; it
// calls find once for each key, not for each row.
type coded interface {
	codes(c int, find func(key []byte) int32) func(i int) int32
}

// EncodeLeaf makes the block of a leaf's rows, with labels and weights.
// classWeights multiply the weights, by class; nil for none. The rows are trained on, or held out.
func (f *Fitted) EncodeLeaf(s *Spec, v *record.View, held bool, classWeights []float64) (*block.Block, error) {
	b := block.New(v.Rows, f.Dense, f.Codes, f.Narrow)
	var cols []int
	for i, c := range s.Cols {
		if c.Role == Feature {
			cols = append(cols, i)
		}
	}
	w := &labels{f: f, col: s.LabelCol(), weight: s.WeightCol(), event: s.EventCol(), classWeights: classWeights, find: newFinder(f.Keys)}
	var src source = v
	if !held && f.HasFolds() {
		folds, done, err := v.Folds(targetFolds)
		if err != nil {
			return nil, err
		}
		defer done()
		src = &folded{v, folds}
	}
	f.fill(b, src, cols, nil, func(from, to int) { w.fill(b, v, from, to) })
	return b, nil
}

// labels writes labels and weights.
type labels struct {
	f            *Fitted
	col, weight  int
	event        int // -1: there is none, as of unfitted blocks
	classWeights []float64
	find         finder
}

func (w *labels) fill(b *block.Block, v *record.View, from, to int) {
	if w.weight >= 0 {
		v.Numbers(w.weight, from, b.W[from:to])
	} else {
		for i := from; i < to; i++ {
			b.W[i] = 1
		}
	}
	if w.col < 0 {
		return
	}
	if w.f.Keys == nil {
		y := b.Y[from:to]
		v.Numbers(w.col, from, y)
		if w.event >= 0 {
			happened := make([]float64, len(y))
			v.Numbers(w.event, from, happened)
			for i, h := range happened {
				if h == 0 {
					y[i] = -y[i]
				}
			}
		}
		return
	}
	for i := from; i < to; i++ {
		k := w.find.find(v.Bytes(w.col, i))
		if k < 0 { // not a class: labels that only rows of weight 0 have are no classes
			b.Y[i], b.W[i] = 0, 0
			continue
		}
		b.Y[i] = float64(k)
		if w.classWeights != nil {
			b.W[i] = float64(b.W[i] * w.classWeights[k])
		}
	}
}

// finder returns the number of a key, -1 for an unknown one.
type finder struct {
	keys []string // few
	many numbering.Keys
}

func newFinder(keys []string) finder {
	if len(keys) <= 6 {
		return finder{keys: keys}
	}
	return finder{many: numbering.Of(keys)}
}

// lookup is a column's finder, made when it is first needed: of many categories that takes
// longer than a prediction.
type lookup struct {
	once sync.Once
	finder
}

// known returns the finder of the column's categories.
func (c *FitCol) known() *finder {
	if c.look == nil {
		f := newFinder(c.Cats)
		return &f
	}
	c.look.once.Do(func() { c.look.finder = newFinder(c.Cats) })
	return &c.look.finder
}

func (f *finder) find(key []byte) int32 {
	for i, k := range f.keys {
		if string(key) == k {
			return int32(i)
		}
	}
	return f.many.Find(key)
}

// finder returns the number of a category by its key: after those of categories with
// their own come those that the others share, by a hash, if there are any, and then that
// of NULL, a nil key. -1 is for what has none.
func (c *FitCol) finder() func(key []byte) int32 {
	if c.Silent() {
		return func([]byte) int32 { return -1 }
	}
	known, null, shared := c.known(), int32(-1), 0
	if c.Encoder == OneHot {
		shared = c.Dim
	}
	if c.NullSlot {
		null = int32(len(c.Cats) + shared)
	}
	return func(key []byte) int32 {
		if key == nil {
			return null
		}
		k := known.find(key)
		if k < 0 && shared > 0 {
			k = int32(len(c.Cats)) + int32(canon.Hash(key)%uint64(shared))
		}
		return k
	}
}

// fill writes features chunk by chunk; cols are the source's columns of f.Cols.
// Each chunk is filled by quick, where it is not nil and can do it; also, if not
// nil, is called after each chunk.
func (f *Fitted) fill(b *block.Block, src source, cols []int, quick *tiler, also func(from, to int)) {
	var puts []func(from, to int) // made where they are needed
	for from := 0; from < b.Rows; from += chunkRows {
		to := min(from+chunkRows, b.Rows)
		if quick == nil || !quick.fill(b, from, to) {
			if puts == nil {
				puts = f.writers(b, src, cols)
			}
			for _, put := range puts {
				put(from, to)
			}
		}
		if also != nil {
			also(from, to)
		}
	}
}

// writers returns, for each feature, the function that writes its dense columns and codes in rows
// [from, to).
func (f *Fitted) writers(b *block.Block, src source, cols []int) []func(from, to int) {
	w := &writer{b: b}
	puts := make([]func(from, to int), 0, len(f.Cols)+1)
	var terms []termColumn
	var dense, code, oneHot int
	for i := range f.Cols {
		c := &f.Cols[i]
		n, codes, slots := c.Widths()
		if c.Encoder == Terms {
			terms = append(terms, termColumn{c: c, col: cols[i], oneHot: int32(oneHot), Tokens: words.Tokens{Grams: c.grams()}})
		} else {
			puts = append(puts, w.column(c, src, cols[i], dense, code, int32(oneHot)))
		}
		dense += n
		code += codes
		oneHot += slots
	}
	if terms != nil {
		b.Sparse = &block.Sparse{}
		puts = append(puts, sparse(b, terms, src.Bytes))
	}
	return puts
}

// writer makes the functions that write input columns to a block.
type writer struct {
	b        *block.Block
	buf, ind [chunkRows]float64
}

// column returns the function that writes a column's dense columns and codes in
// rows [from, to). dense and code are the first of its columns, oneHot the first
// of its slots.
func (w *writer) column(c *FitCol, src source, col, dense, code int, oneHot int32) func(from, to int) {
	switch c.Encoder {
	case OneHot, Ordinal, Class:
		return w.category(c, src, col, dense, code, oneHot)
	case Array, PlainArray:
		return w.array(c, src, col, dense)
	case TargetEncode:
		return w.target(c, src, col, dense)
	case Spline:
		return w.spline(c, src, col, dense)
	case NearestRows, Regressions:
		return w.imputed(c, src, col, dense)
	}
	center, inv := 0.0, 1.0
	if len(c.Center) > 0 {
		center, inv = c.Center[0], 1/c.Scale[0]
	}
	return func(from, to int) {
		vals := w.buf[:to-from]
		readNumbers(src, c.Type, c.Encoder, col, from, vals)
		switch c.Encoder {
		case Bucketize, QuantileBucketize:
			w.bucket(c, from, vals, code, oneHot)
			return
		case Dates:
			w.dates(c, from, vals, code, oneHot)
		}
		missing := false
		for i, v := range vals {
			if v-v != 0 {
				if !missing {
					missing = true
					clear(w.ind[:len(vals)])
				}
				v, w.ind[i] = c.Fill, 1
			}
			vals[i] = float64((v - center) * inv)
		}
		w.put(dense, from, vals)
		if c.Indicator && missing {
			w.put(dense+1, from, w.ind[:len(vals)])
		}
	}
}

// putAt is put for a from that need not be a multiple of the lanes.
func (w *writer) putAt(j, from int, vals []float64) {
	head := min(-from&(f64.Lanes-1), len(vals))
	for i, v := range vals[:head] {
		w.b.Set(from+i, j, v)
	}
	w.put(j, from+head, vals[head:])
}

// put writes numbers of rows from on into dense column j. from must be a
// multiple of f64.Lanes.
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
	for ; len(vals) >= f64.Lanes; at += d * f64.Lanes {
		*(*[f64.Lanes]float64)(w.b.X64[at:]) = *(*[f64.Lanes]float64)(vals)
		vals = vals[f64.Lanes:]
	}
	if len(vals) > 0 {
		copy(w.b.X64[at:], vals)
	}
}

func (w *writer) bucket(c *FitCol, from int, vals []float64, code int, oneHot int32) {
	for i, v := range vals {
		slot := int32(-1)
		if c.Silent() {
			// none
		} else if v == v {
			k, found := slices.BinarySearch(c.Bounds, v)
			if found {
				k++ // a bound belongs to the interval above it
			}
			slot = oneHot + int32(k)
		} else if c.NullSlot {
			slot = oneHot + int32(len(c.Bounds)) + 1
		}
		w.b.SetCode(from+i, code, slot)
	}
}

func (w *writer) dates(c *FitCol, from int, days []float64, code int, oneHot int32) {
	for i, v := range days {
		month, weekday, hour := int32(-1), int32(-1), int32(-1)
		if v-v == 0 && !c.Silent() {
			day := math.Floor(v)
			t := time.Unix(int64(day)*86400, 0).UTC()
			month = oneHot + int32(t.Month()) - 1
			weekday = oneHot + 12 + (int32(t.Weekday())+6)%7 // Monday first
			hour = oneHot + 19 + min(int32((v-day)*24), 23)
		}
		w.b.SetCode(from+i, code, month)
		w.b.SetCode(from+i, code+1, weekday)
		if c.Type.OID != types.DateOID {
			w.b.SetCode(from+i, code+2, hour)
		}
	}
}

func (w *writer) category(c *FitCol, src source, col, dense, code int, oneHot int32) func(from, to int) {
	find := c.finder()
	at := func(i int) int32 { return find(src.Bytes(col, i)) }
	if d, ok := src.(coded); ok {
		at = d.codes(col, find)
	}
	if c.Encoder == Class {
		return func(from, to int) {
			vals := w.buf[:to-from]
			for i := range vals {
				if key := src.Bytes(col, from+i); key == nil {
					vals[i] = math.NaN() // of a row held out
				} else { // only rows of weight 0 can have an unknown category
					vals[i] = float64(max(find(key), 0))
				}
			}
			w.put(dense, from, vals)
		}
	}
	if c.Encoder == Ordinal {
		return func(from, to int) {
			vals := w.buf[:to-from]
			for i := range vals {
				k := at(from + i)
				if int(k) == len(c.Cats) {
					k = -1
				}
				vals[i] = float64(k + 1)
			}
			w.put(dense, from, vals)
		}
	}
	return func(from, to int) {
		for i := from; i < to; i++ {
			k := at(i)
			if k >= 0 {
				k += oneHot
			}
			w.b.SetCode(i, code, k)
		}
	}
}

func (w *writer) array(c *FitCol, src source, col, dense int) func(from, to int) {
	var vals []float64
	place := func(j, row int, v float64) {
		at := (row&^(f64.Lanes-1))*w.b.Dense + (dense+j)*f64.Lanes + row&(f64.Lanes-1)
		if w.b.X32 != nil {
			w.b.X32[at] = float32(v)
		} else {
			w.b.X64[at] = v
		}
	}
	return func(from, to int) {
		for i := from; i < to; i++ {
			var ok bool
			vals, ok = src.Array(col, i, vals[:0])
			ok = ok && len(vals) == c.Dim // rows of another length were refused before, but for those of weight 0
			for j := range c.Dim {
				center, scale := 0.0, 1.0
				if len(c.Center) > 0 {
					center, scale = c.Center[j], c.Scale[j]
				}
				v := center
				if ok && vals[j] == vals[j] && !math.IsInf(scale, 1) {
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
}
