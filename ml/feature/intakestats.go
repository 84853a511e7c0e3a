package feature

import (
	"math"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/record"
)

// CollectTaken returns the statistics of the rows of an Intake's block that are not
// held out. They are empty where a later block's include them.
func (s *Spec) CollectTaken(b *block.Block, t *Taken) (*Stats, error) {
	if t.counted {
		st := t.stats
		if t.stats = nil; st == nil { // the caller merges other statistics into it
			st = &Stats{Cols: make([]ColStats, len(s.Cols))}
		}
		return st, nil
	}
	return s.collectRows(b, t, t.part(false), t.part(true))
}

// CollectRows returns the statistics of some rows of such a block.
func (s *Spec) CollectRows(b *block.Block, t *Taken, rows []int32) (*Stats, error) {
	return s.collectRows(b, t, rows, nil)
}

func (s *Spec) collectRows(b *block.Block, t *Taken, rows, held []int32) (*Stats, error) {
	k := s.newBlockStats()
	scratch := block.New(chunkRows, b.Dense, b.Codes, s.Narrow)
	for from := 0; from < len(rows); from += chunkRows {
		n := min(chunkRows, len(rows)-from)
		b.Pick(scratch, rows[from:from+n])
		for i, r := range rows[from : from+n] {
			scratch.Y[i] = b.Y[r]
			for j := range b.Codes {
				scratch.SetCode(i, j, b.CodeAt(int(r), j))
			}
		}
		k.add(scratch, 0, n)
	}
	for _, r := range held {
		if k.held++; k.classes {
			k.out.add(int(b.Y[r]))
		}
	}
	return k.finish(t)
}

// blockStats collects the statistics of an Intake's blocks.
type blockStats struct {
	s          *Spec
	feats      []int // numbers
	cats       []int
	label      int
	classes    bool
	cols       []collector
	splits     f64.Splits
	hits, out  hits   // by the label's number, to train on and held out
	catHits    []hits // of categories by column
	rows, held int
}

// StatsBytes estimates the memory of an Intake's statistics in bytes.
func (s *Spec) StatsBytes() int64 {
	return int64(len(s.Cols)) * int64(unsafe.Sizeof(collector{}))
}

func (s *Spec) newBlockStats() *blockStats {
	k := &blockStats{s: s, feats: s.numbers(), cats: s.oneHot(), label: s.LabelCol(), cols: s.collectors(0)}
	k.catHits = make([]hits, len(k.cats))
	k.classes = k.label >= 0 && s.Classes
	k.splits.Plain = true
	for _, c := range k.feats {
		k.splits.Plain = k.splits.Plain && k.cols[c].sums < 2
	}
	return k
}

// add adds rows [from, to) of b, at most f64.SplitRows from a multiple of the
// lanes on.
func (k *blockStats) add(b *block.Block, from, to int) {
	k.features(b, from, to)
	k.others(b, from, to)
}

// tile writes rows [at, at+record.ViewRows) of b, as tiles, from rows of columns from row from on,
// with stores that bypass the caches, and adds the features' statistics; others must be called for
// the rest. finite is false if a value is not finite.
func (k *blockStats) tile(b *block.Block, at int, cols [][]float32, from int) (finite bool) {
	d, to := len(cols), at+record.ViewRows
	low, high, sums, ok, finite := k.splits.Tile32(b.X32[at*d:to*d], cols, from, record.ViewRows/f64.Lanes)
	if finite {
		k.parts(b, at, to, to, low, high, sums, ok)
	}
	return finite
}

// others adds the statistics of rows [from, to) except those of numeric features.
func (k *blockStats) others(b *block.Block, from, to int) {
	k.rows += to - from
	for j, c := range k.cats {
		for i := from; i < to; i++ {
			if code := b.CodeAt(i, j); code >= 0 {
				k.catHits[j].add(int(code))
			} else {
				k.cols[c].nulls++
			}
		}
	}
	switch {
	case k.classes:
		for _, y := range b.Y[from:to] {
			k.hits.add(int(y))
		}
	case k.label >= 0:
		k.targets(b.Y[from:to])
	}
}

// targets adds numbers to predict, which are finite and of which the bounds alone are
// wanted, those of whole tiles together. Zeros have no sign, which the bounds of tiles
// do not tell.
func (k *blockStats) targets(y []float64) {
	col := &k.cols[k.label]
	if n := len(y) &^ (f64.Lanes - 1); n > 0 {
		var low, high [f64.Lanes]float64
		for l := range low {
			low[l], high[l] = math.Inf(1), math.Inf(-1)
		}
		f64.ColumnBounds(low[:], high[:], y[:n], 1)
		col.parts(n, slices.Min(low[:])+0, slices.Max(high[:])+0, nil)
		y = y[n:]
	}
	for _, v := range y {
		col.one(v + 0)
	}
}

// features adds the numeric features of rows [from, to), those of whole tiles
// together where the magnitudes allow it, and returns how many are NaN.
func (k *blockStats) features(b *block.Block, from, to int) (nans int) {
	if len(k.feats) == 0 {
		return 0
	}
	whole := to &^ (f64.Lanes - 1)
	low, high, sums, ok := b.Splits(&k.splits, from, whole)
	return k.parts(b, from, whole, to, low, high, sums, ok)
}

// parts adds the numeric features of rows [from, to); the bounds and split sums of those before
// whole are given.
func (k *blockStats) parts(b *block.Block, from, whole, to int, low, high, sums []float64, ok []bool) (nans int) {
	for j, c := range k.feats {
		col, rest := &k.cols[c], from
		if whole > from && ok[j] {
			col.parts(whole-from, low[j], high[j], sums[6*j:6*j+6])
			rest = whole
		}
		for i := rest; i < to; i++ {
			if x := b.Value(i, j); x == x {
				col.one(x)
			} else {
				col.nulls++
				nans++
			}
		}
	}
	return nans
}

// finish returns the statistics; t has the keys.
func (k *blockStats) finish(t *Taken) (*Stats, error) {
	n := k.rows
	st := &Stats{Rows: int64(n), Held: int64(k.held), Counted: int64(n), Cols: make([]ColStats, len(k.cols))}
	if k.classes {
		k.cols[k.label].counter.counted(t.keys, k.hits, k.out)
	}
	for j, keys := range t.cats {
		k.cols[k.cats[j]].counter.counted(keys, k.catHits[j], nil)
	}
	for i := range k.cols {
		if err := k.cols[i].finish(&st.Cols[i]); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// FinishTaken makes a block of rows as they came the block to train on, where
// FinishesTaken. With class weights the block has its OwnWeights.
func (f *Fitted) FinishTaken(b *block.Block, t *Taken, classWeights []float64) {
	f.standardize(b)
	b.Hashes = nil
	f.recode(b, b, nil, t)
	f.classes(b, t, classWeights)
}

// recode writes to dst the model's numbers of the categories of src's rows; rows nil
// means all.
func (f *Fitted) recode(dst, src *block.Block, rows []int32, t *Taken) {
	oneHot, j := int32(0), 0
	for i := range f.Cols {
		c := &f.Cols[i]
		_, codes := c.shape()
		if codes == nil {
			continue
		}
		number := t.numbers(j, c.finder())
		for r := range dst.Rows {
			from := r
			if rows != nil {
				from = int(rows[r])
			}
			k := number(src.CodeAt(from, j))
			if k >= 0 {
				k += oneHot
			}
			dst.SetCode(r, j, k)
		}
		oneHot += int32(codes[0])
		j++
	}
}

// numbers returns a function from a category's number in the Intake to find(its key). find
// is called once for each category that a row has.
func (t *Taken) numbers(j int, find func(key []byte) int32) func(code int32) int32 {
	known, null := unknownCodes(len(t.cats[j])), find(nil)
	return func(code int32) int32 {
		if code < 0 {
			return null
		}
		if known[code] == unknownCode {
			known[code] = find([]byte(t.cats[j][code]))
		}
		return known[code]
	}
}

func (f *Fitted) standardize(b *block.Block) {
	if center, inv, plain := f.scales(); !plain {
		b.Standardize(center, inv)
	}
}

// EncodeTaken makes a block of the rows to train on, or of those held out.
func (f *Fitted) EncodeTaken(b *block.Block, t *Taken, held bool, classWeights []float64) *block.Block {
	rows := t.part(held)
	out := block.New(len(rows), f.Dense, f.Codes, f.Narrow)
	if f.changesValues(b, t) {
		b.Pick(out, rows)
		f.standardize(out)
		f.recode(out, b, rows, t)
	} else {
		cols, dense, codes := make([]int, len(f.Cols)), 0, 0
		for i := range cols {
			if f.Cols[i].Encoder == OneHot {
				cols[i] = codes
				codes++
			} else {
				cols[i] = dense
				dense++
			}
		}
		f.fill(out, &takenRows{b: b, rows: rows, t: t}, cols, nil, nil)
	}
	for i, r := range rows {
		out.Y[i], out.W[i] = b.Y[r], 1
	}
	f.classes(out, t, classWeights)
	return out
}

// classes replaces labels by the numbers of the model's classes, and sets the rows'
// weights.
func (f *Fitted) classes(b *block.Block, t *Taken, classWeights []float64) {
	if f.Keys == nil {
		return
	}
	find, number := newFinder(f.Keys), make([]float64, len(t.keys))
	for i, key := range t.keys {
		number[i] = float64(find.find([]byte(key)))
	}
	for i, id := range b.Y[:b.Rows] {
		y := number[int(id)]
		b.Y[i] = y
		if classWeights != nil {
			b.W[i] = float64(b.W[i] * classWeights[int(y)])
		}
	}
}

// FinishesTaken reports whether the block can be encoded in place.
func (f *Fitted) FinishesTaken(b *block.Block, t *Taken) bool {
	return t.Held == nil && f.changesValues(b, t)
}

// changesValues reports whether each encoder maps one number to one number, or one
// category to one code.
func (f *Fitted) changesValues(b *block.Block, t *Taken) bool {
	if f.Codes != b.Codes || f.Dense != b.Dense || len(f.Cols) != b.Dense+b.Codes {
		return false
	}
	for i := range f.Cols {
		if c := &f.Cols[i]; t.nulls && c.Encoder != OneHot && c.Fill == c.Fill { // a NULL is not NaN
			return false
		}
	}
	return true
}

// Parts returns the number of rows to train on and of those held out.
func (t *Taken) Parts() (train, held int) {
	if t.Held == nil {
		return t.Rows, 0
	}
	for i := range t.Rows {
		if t.held(i) {
			held++
		}
	}
	return t.Rows - held, held
}

// takenRows is a source over the rows of an Intake's block. Its columns are the numbers,
// then the codes.
type takenRows struct {
	b    *block.Block
	rows []int32
	t    *Taken
}

// codes implements coded.
func (s *takenRows) codes(c int, find func(key []byte) int32) func(i int) int32 {
	number := s.t.numbers(c, find)
	return func(i int) int32 { return number(s.b.CodeAt(int(s.rows[i]), c)) }
}

// Numbers implements source.
func (s *takenRows) Numbers(c, from int, dst []float64) (nulls int) {
	for i, r := range s.rows[from : from+len(dst)] {
		v := s.b.Value(int(r), c)
		if v != v {
			v = math.NaN()
			nulls++
		}
		dst[i] = v
	}
	return nulls
}

// Bytes implements source; the encoders of numbers and codes do not call it.
func (s *takenRows) Bytes(int, int) []byte { return nil }

// Array implements source likewise.
func (s *takenRows) Array(_, _ int, dst []float64) ([]float64, bool) { return dst, false }
