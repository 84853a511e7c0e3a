package profiling

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel/bins"
	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
)

// Binner counts rows by the bins of a profile. It is for one goroutine.
type Binner struct {
	p       *profile.Profile
	cols    []arrow.Array   // of the features
	src     *feature.Reader // of these
	numbers []binnedNumber
	// rest are the encoders of all other features, whose blocks are looked at.
	rest     *feature.Fitted
	restCols []int
	places   []binnedPlace
	block    *block.Block
	counts   profile.Counts
	buf      [record.ViewRows]float64
	found    [record.ViewRows]byte
	counter  bins.Counter
}

// binnedNumber is a feature that is one number.
type binnedNumber struct {
	col, k int // which feature and which column of the profile it is
	scale  bins.Scale
	table  bins.Table
}

// binnedPlace is a column of the profile that comes of a block.
type binnedPlace struct {
	profiled
	c     *feature.FitCol
	input int // which feature it is of
	k     int
	table bins.Table
	of    []byte // of categories: the bin of each slot
}

// NewBinner makes one; nil where the profile is of other features.
func NewBinner(f *feature.Fitted, p *profile.Profile) *Binner {
	all := columnsOf(f)
	if len(all) != len(p.Columns) {
		return nil
	}
	b := &Binner{p: p, src: feature.NewReader(f)}
	var rest []feature.FitCol
	var left []int // columns of the profile that the rest makes
	for k, at := range all {
		c, col := &f.Cols[at.col], &p.Columns[k]
		if (valuesOf(c) == 0) != col.Numeric {
			return nil
		}
		if col.Numeric && c.Dim == 0 {
			x := binnedNumber{col: at.col, k: k, scale: bins.Scale{By: 1, Middle: col.Center, Narrow: f.Narrow}}
			if len(c.Center) > 0 {
				x.scale.Center, x.scale.By = c.Center[0], 1/c.Scale[0]
			}
			x.table.Set(col.Edges)
			b.numbers = append(b.numbers, x)
			continue
		}
		if n := len(b.restCols); n == 0 || b.restCols[n-1] != at.col {
			b.restCols, rest = append(b.restCols, at.col), append(rest, *c)
		}
		left = append(left, k)
	}
	if rest == nil {
		return b
	}
	b.rest = feature.NewFitted(rest, f.Label, nil, f.Narrow)
	for i, at := range columnsOf(b.rest) {
		k := left[i]
		c, col := &b.rest.Cols[at.col], &p.Columns[k]
		place := binnedPlace{profiled: at, c: c, input: b.restCols[at.col], k: k}
		if col.Numeric {
			place.table.Set(col.Edges)
		} else {
			place.of = binsOfSlots(c, col)
		}
		b.places = append(b.places, place)
	}
	return b
}

// Bytes is about the memory that it takes to count so many rows.
func (b *Binner) Bytes(rows int) int64 {
	n := int64(len(b.p.Columns)) * 256 * 8
	for _, x := range b.places {
		n += int64(len(x.of))
	}
	if b.rest != nil {
		n += block.Bytes(rows, b.rest.Dense, b.rest.Codes, b.rest.Narrow)
	}
	return n + int64(cap(b.numbers)+cap(b.places))*bins.TableBytes
}

// binsOfSlots returns the bin of each value of a column of categories, and after these that of NULL.
func binsOfSlots(c *feature.FitCol, col *profile.Column) []byte {
	known := map[string]byte{}
	for i, name := range col.Categories {
		known[name] = byte(i)
	}
	of := make([]byte, valuesOf(c)+1)
	for s := range of {
		of[s] = byte(len(col.Categories)) // all others
		if s < namedValues(c) {
			if bin, ok := known[slotName(c, s)]; ok {
				of[s] = bin
			}
		}
	}
	of[len(of)-1] = profile.Missing
	return of
}

// Count returns how many of the rows 0 … n-1 of cols, the features, lie in each bin, as profile.Counts has it.
func (b *Binner) Count(cols []arrow.Array, n int) ([]byte, error) {
	b.counts.Reset(len(b.p.Columns))
	b.counts.Rows = int64(n)
	b.cols = cols
	b.src.Reset(cols)
	for i := range b.numbers {
		b.number(&b.numbers[i], n)
	}
	if b.rest != nil {
		some := make([]arrow.Array, len(b.restCols))
		for i, at := range b.restCols {
			some[i] = cols[at]
		}
		var err error
		if b.block, err = b.rest.EncodeInto(b.block, some, n); err != nil {
			return nil, err
		}
		for i := range b.places {
			b.place(&b.places[i])
		}
	}
	return b.counts.Append(nil), nil
}

// number counts a feature's numbers as blocks would have them. What is imputed there is missing.
func (b *Binner) number(x *binnedNumber, n int) {
	whole, plain := b.cols[x.col].(*array.Float64)
	plain = plain && whole.NullN() == 0
	for from := 0; from < n; from += record.ViewRows {
		var vals []float64
		if plain {
			vals = whole.Float64Values()[from:min(from+record.ViewRows, n)]
		} else {
			vals = b.buf[:min(record.ViewRows, n-from)]
			b.src.Numbers(x.col, from, vals)
		}
		found := b.found[:len(vals)]
		x.table.Find(found, vals, x.scale)
		b.counter.Add(found, &x.table)
	}
	b.counter.Take(b.counts.Column(x.k), n, &x.table)
}

// place counts a column of the profile in the block.
func (b *Binner) place(x *binnedPlace) {
	n, col, nulls := b.counts.Column(x.k), &b.p.Columns[x.k], b.cols[x.input]
	for i := range b.block.Rows {
		if nulls.IsNull(i) {
			n[profile.Missing]++
			continue
		}
		if col.Numeric {
			n[x.table.Of(float32(b.block.Value(i, x.dense)-col.Center))]++
			continue
		}
		switch s := x.slot(x.c, b.block, i); {
		case s >= 0:
			n[x.of[s]]++
		case x.c.Silent(), x.c.Encoder != feature.OneHot && (x.c.Encoder != feature.Ordinal || col.Counts[len(col.Categories)] > 0):
			n[len(col.Categories)]++
		default:
			b.counts.AddNew(x.k, b.src.Text(x.input, i))
		}
	}
}
