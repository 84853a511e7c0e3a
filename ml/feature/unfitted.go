package feature

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/record"
)

// Unfitted is a leaf's block before the encoders are fitted: the features are raw
// values. It is made while the statistics are collected, so that the rows, which
// are scattered over memory, are read once. A Spec whose features are all numbers
// has unfitted blocks; of rows with a NULL there is none.
type Unfitted struct {
	Train, Held *UnfittedBlock // nil: no such rows
}

// UnfittedBlock is one of a leaf's unfitted blocks.
type UnfittedBlock struct {
	b      *block.Block
	labels bool     // Y holds labels; else they are still to be read
	keys   []string // what the numbers of Y mean, for classes
}

// HasUnfitted reports whether leaves have unfitted blocks. Weighted rows have none, since their
// statistics need the weights, nor have rows whose label is read together with another column
// (Event).
func (s *Spec) HasUnfitted() bool { return s.plain() && s.oneHot() == nil }

// plain reports whether every feature is a number or a one-hot category, so that
// blocks can be made before the encoders are fitted.
func (s *Spec) plain() bool {
	if s.WeightCol() >= 0 || s.EventCol() >= 0 || s.Targets() != nil {
		return false
	}
	for i := range s.Cols {
		c := &s.Cols[i]
		if c.Role != Feature {
			continue
		}
		_, cats, sketch := s.needs(c)
		switch c.Encoder {
		case Plain, Standard, MinMax, MaxAbs:
			if cats || sketch {
				return false
			}
		case OneHot:
		default:
			return false
		}
	}
	return !s.Narrow || s.AutoNarrow() // an encoder computes from the values in full precision
}

// UnfittedBytes is the size of an unfitted block of so many rows.
func (s *Spec) UnfittedBytes(train, held int) int64 {
	n, codes := len(s.numbers()), len(s.oneHot())
	return block.Bytes(train, n, codes, s.Narrow) + block.Bytes(held, n, codes, s.Narrow)
}

// numbers are the features of a plain Spec that are numbers.
func (s *Spec) numbers() []int { return s.featuresBy(func(e Encoder) bool { return e != OneHot }) }

// oneHot are those that are categories.
func (s *Spec) oneHot() []int { return s.featuresBy(func(e Encoder) bool { return e == OneHot }) }

func (s *Spec) featuresBy(is func(Encoder) bool) (cols []int) {
	for i, c := range s.Cols {
		if c.Role == Feature && is(c.Encoder) {
			cols = append(cols, i)
		}
	}
	return cols
}

// unfittedReader makes the unfitted block of a view and its statistics.
type unfittedReader struct {
	s        *Spec
	v        *record.View
	out      *UnfittedBlock
	features []int
	run      bool // features are contiguous and can be read tile by tile
	cols     []collector
	sums     *blockStats // of the features
	classes  slotCounter
	slots    [chunkRows]uint64
	w        writer
}

// unfitted returns the same statistics as collect, and the unfitted block. d is nil
// where the rows have a NULL or an error, which only collect handles.
func (s *Spec) unfitted(ctx context.Context, v *record.View) (st *Stats, d *UnfittedBlock, err error) {
	k := &unfittedReader{s: s, v: v, features: s.numbers(), cols: s.collectors(v.Rows)}
	k.out = &UnfittedBlock{b: block.New(v.Rows, len(k.features), 0, s.Narrow)}
	k.run = s.Narrow && v.Layout().Run(k.features)
	k.w.b, k.sums = k.out.b, s.newBlockStats()
	if c := s.LabelCol(); c >= 0 {
		k.out.labels = !s.Classes || v.Layout().SlotWidth(c) > 0
	}
	for from := 0; from < v.Rows; from += chunkRows {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		to := min(from+chunkRows, v.Rows)
		if !k.readFeatures(from, to) || !k.readOthers(from, to) {
			return nil, nil, nil
		}
	}
	st = &Stats{Rows: int64(v.Rows), Counted: int64(v.Rows), Cols: make([]ColStats, len(s.Cols))}
	for _, c := range k.features {
		k.cols[c] = k.sums.cols[c]
	}
	for i := range k.cols {
		c := &k.cols[i]
		if c.col.Role == Label && s.Classes && k.out.labels {
			k.out.keys = k.classes.keys(v.Layout().SlotWidth(i))
			c.counter.counted(k.out.keys, k.classes.hits, nil)
		}
		if c.finish(&st.Cols[i]) != nil {
			return nil, nil, nil
		}
	}
	return st, k.out, nil
}

// readFeatures writes the features of rows [from, to) and adds their moments;
// false if one is NULL.
func (k *unfittedReader) readFeatures(from, to int) bool {
	b := k.out.b
	if k.run {
		if k.v.Tiles(k.features, from, to-from, b) {
			return false
		}
	} else {
		vals := k.w.buf[:to-from]
		for j, c := range k.features {
			if readNumbers(k.v, k.s.Cols[c].Type, k.s.Cols[c].Encoder, c, from, vals) > 0 {
				return false
			}
			k.w.put(j, from, vals)
		}
	}
	return k.sums.features(b, from, to) == 0 // a NaN: there are no NULLs
}

// readOthers reads the label and adds its statistics likewise.
func (k *unfittedReader) readOthers(from, to int) bool {
	b := k.out.b
	w := b.W[from:to]
	for i := range w {
		w[i] = 1
	}
	for i := range k.cols {
		c := &k.cols[i]
		if c.col.Role == Label {
			if !k.s.Classes {
				y := b.Y[from:to]
				nulls := k.v.Numbers(i, from, y)
				if nulls > 0 {
					return false
				}
				c.numbers(0, y, nil)
			} else if k.out.labels {
				slots := k.slots[:to-from]
				if !k.v.Slots(i, from, slots) || !k.classes.count(slots, b.Y[from:to]) {
					return false
				}
			} else if c.categories(k.v, i, from, to-from, nil) != nil {
				return false
			}
		}
	}
	return true
}

// slotCounter numbers the classes of a label of fixed width and counts them.
type slotCounter struct {
	vals []uint64
	hits hits
	ids  map[uint64]int32 // beyond a few
}

// count writes the numbers of the classes to y; false if there are too many.
func (c *slotCounter) count(slots []uint64, y []float64) bool {
	for i, v := range slots {
		id := -1
		if c.ids == nil {
			for k, x := range c.vals {
				if x == v {
					id = k
					break
				}
			}
		} else if k, ok := c.ids[v]; ok {
			id = int(k)
		}
		if id < 0 {
			if id = len(c.vals); id == MaxClasses {
				return false
			}
			c.vals, c.hits = append(c.vals, v), append(c.hits, 0)
			if c.ids == nil && id == few {
				c.ids = make(map[uint64]int32, 2*few)
				for k, x := range c.vals {
					c.ids[x] = int32(k)
				}
			} else if c.ids != nil {
				c.ids[v] = int32(id)
			}
		}
		c.hits[id]++
		y[i] = float64(id)
	}
	return true
}

// keys returns the classes' canonical bytes.
func (c *slotCounter) keys(width int) []string {
	out := make([]string, len(c.vals))
	for i, v := range c.vals {
		out[i] = string(le.AppendUint64(nil, v)[:width])
	}
	return out
}

// Finishes reports whether an unfitted block can be encoded in place.
func (f *Fitted) Finishes(d *Unfitted) bool {
	b := d.Train.b
	return f.Codes == 0 && f.Dense == b.Dense && len(f.Cols) == b.Dense && f.Narrow == (b.X32 != nil)
}

// Finish encodes an unfitted block in place; the result is equal to EncodeLeaf of the
// same rows, v. f.Finishes must hold.
func (f *Fitted) Finish(s *Spec, d *UnfittedBlock, v *record.View, classWeights []float64) *block.Block {
	b := d.b
	if center, inv, plain := f.scales(); !plain {
		b.Standardize(center, inv)
	}
	l := &labels{f: f, col: s.LabelCol(), weight: -1, event: -1, classWeights: classWeights, find: newFinder(f.Keys)}
	if !d.labels {
		for from := 0; from < b.Rows; from += chunkRows {
			l.fill(b, v, from, min(from+chunkRows, b.Rows))
		}
		return b
	}
	if f.Keys == nil {
		return b
	}
	number := make([]float64, len(d.keys))
	for i, key := range d.keys {
		number[i] = float64(l.find.find([]byte(key)))
	}
	for i, id := range b.Y[:b.Rows] {
		y := number[int(id)]
		b.Y[i] = y
		if classWeights != nil {
			b.W[i] = float64(b.W[i] * classWeights[int(y)])
		}
	}
	return b
}
