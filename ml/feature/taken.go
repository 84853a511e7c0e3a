package feature

import (
	"math"
	"unsafe"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
)

// CollectTaken gives the statistics of a block of rows as they came: of those that
// are not held out. They are none where another block has them with its own.
func (s *Spec) CollectTaken(b *dataset.Block, t *Taken) (*Stats, error) {
	if t.counted {
		st := t.stats
		if t.stats = nil; st == nil { // whoever had it merges others into it
			st = &Stats{Cols: make([]ColStats, len(s.Cols))}
		}
		return st, nil
	}
	return s.collectRows(b, t, t.part(false), t.part(true))
}

// CollectRows gives the statistics of some rows of such a block.
func (s *Spec) CollectRows(b *dataset.Block, t *Taken, rows []int32) (*Stats, error) {
	return s.collectRows(b, t, rows, nil)
}

func (s *Spec) collectRows(b *dataset.Block, t *Taken, rows, held []int32) (*Stats, error) {
	k := s.newBlockStats()
	scratch := dataset.NewBlock(chunkRows, b.Dense, 0, s.Narrow)
	for from := 0; from < len(rows); from += chunkRows {
		n := min(chunkRows, len(rows)-from)
		b.Pick(scratch, rows[from:from+n])
		for i, r := range rows[from : from+n] {
			scratch.Y[i] = b.Y[r]
		}
		k.add(scratch, 0, n)
	}
	for _, r := range held {
		if k.held++; k.classes {
			k.class(b.Y[r]).n++
		}
	}
	return k.finish(t.keys)
}

// blockStats collects the statistics of rows as they came.
type blockStats struct {
	s          *Spec
	feats      []int
	label      int
	classes    bool
	cols       []collector
	splits     f64.Splits
	target     f64.Splits
	hits       []tally // by the label's number
	rows, held int
}

// StatsBytes is about the memory that the statistics of rows as they came take.
func (s *Spec) StatsBytes() int64 {
	return int64(len(s.Cols)) * int64(unsafe.Sizeof(collector{}))
}

func (s *Spec) newBlockStats() *blockStats {
	k := &blockStats{s: s, feats: s.features(), label: s.LabelCol(), cols: s.collectors(0)}
	k.classes = k.label >= 0 && s.Classes
	k.splits.Plain = true
	for _, c := range k.feats {
		k.splits.Plain = k.splits.Plain && k.cols[c].sums < 2
	}
	k.target.Plain = k.label < 0 || k.cols[k.label].sums < 2
	return k
}

// add adds rows [from, to) of b, at most f64.SplitRows from a multiple of the
// lanes on.
func (k *blockStats) add(b *dataset.Block, from, to int) {
	k.rows += to - from
	k.features(b, from, to)
	switch {
	case k.classes:
		for _, y := range b.Y[from:to] {
			h := k.class(y)
			h.n++
			h.w.add(1, false)
		}
	case k.label >= 0:
		k.targets(b.Y[from:to])
	}
}

// targets adds numbers to predict, those of whole tiles together where their sizes
// allow it. Zeros have no sign, which the bounds of tiles do not tell.
func (k *blockStats) targets(y []float64) {
	col := &k.cols[k.label]
	if n := len(y) &^ (f64.Lanes - 1); n > 0 {
		if low, high, sums, ok := f64.ColumnSplits(&k.target, y[:n], 1); ok[0] {
			col.parts(n, low[0]+0, high[0]+0, sums)
			y = y[n:]
		}
	}
	for _, v := range y {
		col.one(v + 0)
	}
}

// features adds the features of such rows, those of whole tiles together, where
// their sizes allow it, and gives how many are NaN.
func (k *blockStats) features(b *dataset.Block, from, to int) (nans int) {
	whole := to &^ (f64.Lanes - 1)
	low, high, sums, ok := b.Splits(&k.splits, from, whole)
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

// class counts the rows of a class.
func (k *blockStats) class(y float64) *tally {
	id := int(y)
	for id >= len(k.hits) {
		k.hits = append(k.hits, tally{})
	}
	return &k.hits[id]
}

// finish gives the statistics; keys are the classes'.
func (k *blockStats) finish(keys []string) (*Stats, error) {
	n := k.rows
	st := &Stats{Rows: int64(n), Held: int64(k.held), Counted: int64(n), Cols: make([]ColStats, len(k.cols))}
	if k.classes {
		counter := &k.cols[k.label].counter
		for id, h := range k.hits {
			if h.n > 0 {
				*counter.of([]byte(keys[id])) = h
			}
		}
	}
	for i := range k.cols {
		if err := k.cols[i].finish(&st.Cols[i]); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// FinishTaken makes a block of rows as they came the block to train on, where
// FinishesTaken.
func (f *Fitted) FinishTaken(b *dataset.Block, t *Taken, classWeights []float64) {
	f.standardize(b)
	b.Hashes = nil
	f.classes(b, t, classWeights)
}

func (f *Fitted) standardize(b *dataset.Block) {
	if center, inv, plain := f.scales(); !plain {
		b.Standardize(center, inv)
	}
}

// EncodeTaken makes a block of the rows to train on, or of those held out.
func (f *Fitted) EncodeTaken(b *dataset.Block, t *Taken, held bool, classWeights []float64) *dataset.Block {
	rows := t.part(held)
	out := dataset.NewBlock(len(rows), f.Dense, f.Codes, f.Narrow)
	if f.changesValues(b, t) {
		b.Pick(out, rows)
		f.standardize(out)
	} else {
		cols := make([]int, len(f.Cols))
		for i := range cols {
			cols[i] = i
		}
		f.fill(out, &takenRows{b: b, rows: rows}, cols, nil, nil)
	}
	for i, r := range rows {
		out.Y[i], out.W[i] = b.Y[r], 1
	}
	f.classes(out, t, classWeights)
	return out
}

// classes gives labels the numbers of the model's classes, and rows their weights.
func (f *Fitted) classes(b *dataset.Block, t *Taken, classWeights []float64) {
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

// FinishesTaken tells whether the encoders change no more than the block's values,
// where they lie.
func (f *Fitted) FinishesTaken(b *dataset.Block, t *Taken) bool {
	return t.Held == nil && f.changesValues(b, t)
}

// changesValues tells whether the encoders make a number of each number.
func (f *Fitted) changesValues(b *dataset.Block, t *Taken) bool {
	if f.Codes != 0 || f.Dense != b.Dense || len(f.Cols) != b.Dense {
		return false
	}
	for i := range f.Cols {
		if t.nulls && f.Cols[i].Fill == f.Cols[i].Fill { // a NULL is not NaN
			return false
		}
	}
	return true
}

// Parts gives the number of rows to train on and of those held out.
func (t *Taken) Parts() (train, held int) {
	for i := range t.Rows {
		if t.held(i) {
			held++
		}
	}
	return t.Rows - held, held
}

// takenRows is a source of rows of a block of rows as they came.
type takenRows struct {
	b    *dataset.Block
	rows []int32
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

// Bytes implements source: no encoder of numbers asks for them.
func (s *takenRows) Bytes(int, int) []byte { return nil }

// Array implements source likewise.
func (s *takenRows) Array(_, _ int, dst []float64) ([]float64, bool) { return dst, false }
