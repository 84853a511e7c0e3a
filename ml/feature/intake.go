package feature

import (
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/numbering"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Intake makes blocks directly from a query's batches, without the dataset's
// records, where the order of rows has no meaning and all features are numbers or
// categories. Features are the raw values, NaN for NULL; a category or class is its
// number in this Intake's order of arrival, -1 for NULL. It is for one goroutine.
type Intake struct {
	s      *Spec
	later  bool
	feats  []int // numbers
	cats   []int
	label  int // its column, -1 for none
	split  int
	src    columns
	tiles  [][]float32 // the features of the batch, where they are float4 without NULLs
	class  func(i int) int32
	wide   [][]float64 // by feature, its values in the batch where it is float8 without NULLs and that is what is kept
	truth  [][]float32 // the label's column of the batch, likewise
	ids    classIDs
	narrow [record.ViewRows]float32 // scratch: labels
	codes  []func(i int) int32      // of the batch, by category column
	names  []*interned              // likewise
	w      writer
	rows   int // of the block so far
	taken  Taken
	stats  *blockStats // of all blocks; nil: rows will be held out, statistics wait for that
	done   int         // rows of the block that it has
	tiled  bool        // and the features of those after these
	last   *Taken
}

// longBlock is the size in bytes from which on a block is no longer in the caches when it
// is read again.
const longBlock = 1 << 20

// Taken describes a block of raw rows that an Intake made.
type Taken struct {
	Rows  int
	Held  []uint64   // rows held out, a bit each; nil for none
	keys  []string   // the keys of the labels' numbers, for classes
	cats  [][]string // and those of categories, by column
	nulls bool       // a number is NULL somewhere

	counted bool // its statistics are in stats, or in those of a later block
	stats   *Stats
}

// TakesIn reports whether an Intake can make the blocks of training in place.
func (s *Spec) TakesIn() bool { return s.plain() }

// NewIntake makes an Intake; s.TakesIn. later says that rows are held out
// afterwards, by the hashes in the blocks.
func (s *Spec) NewIntake(later bool) *Intake {
	k := &Intake{s: s, later: later, feats: s.numbers(), cats: s.oneHot(), label: s.LabelCol(), split: s.roleCol(Split)}
	if !later && k.split < 0 {
		k.stats = s.newBlockStats()
	}
	k.codes = make([]func(int) int32, len(k.cats))
	for range k.cats {
		k.names = append(k.names, &interned{})
	}
	for _, c := range s.Cols {
		k.src.typ = append(k.src.typ, c.Type)
	}
	return k
}

// TakenBytes is the size of a block of Start, without hashes.
func (s *Spec) TakenBytes(rows int) int64 {
	return block.UnitBytes(rows, len(s.numbers()), len(s.oneHot()), s.Narrow)
}

// Start returns the block that the rows that follow go to, of TakenBytes and hashes.
func (k *Intake) Start(rows int) *block.Block {
	b := block.NewUnit(rows, len(k.feats), len(k.cats), k.s.Narrow)
	if k.later {
		b.Hashes = make([]block.RowHash, rows)
	}
	k.w.b, k.rows, k.done, k.taken = b, 0, 0, Taken{Rows: rows, counted: k.stats != nil}
	return b
}

// Open makes b the batch that Add takes rows from. All of its rows count.
func (k *Intake) Open(b *batch.Batch) error {
	k.src.cols, k.tiles, k.wide, k.truth, k.class = b.Cols, k.tiles[:0], k.wide[:0], k.truth[:0], nil
	for i, c := range k.s.Cols {
		if c.Role != Ignored && !carries(b.Cols[i], c.Type) {
			return pgerr.Internal("training column %q came as %s", c.Name, b.Cols[i].DataType())
		}
	}
	for _, c := range k.feats {
		if a, ok := b.Cols[c].(*array.Float32); ok && k.s.Narrow && a.NullN() == 0 {
			k.tiles = append(k.tiles, a.Float32Values())
		}
		var wide []float64
		if a, ok := b.Cols[c].(*array.Float64); ok && !k.s.Narrow && a.NullN() == 0 && k.s.Cols[c].Type.OID == types.Float8OID {
			wide = a.Float64Values()
		}
		k.wide = append(k.wide, wide)
	}
	if k.label >= 0 && !k.s.Classes {
		if a, ok := b.Cols[k.label].(*array.Float32); ok && a.NullN() == 0 {
			k.truth = append(k.truth, a.Float32Values())
		}
	}
	if k.label >= 0 && k.s.Classes {
		k.class = k.src.codes(k.label, k.ids.id)
	}
	for j, c := range k.cats {
		k.codes[j] = k.src.codes(c, k.names[j].id)
	}
	return nil
}

// Add takes rows [from, from+n) of the batch, at most record.ViewRows, and no
// more than the block has room for.
func (k *Intake) Add(from, n int) error {
	for n > 0 {
		m := min(n, record.ViewRows-k.rows%record.ViewRows) // stays within a chunk
		if err := k.features(from, m); err != nil {
			return err
		}
		if err := k.categories(from, m); err != nil {
			return err
		}
		if err := k.others(from, m); err != nil {
			return err
		}
		k.rows += m
		from, n = from+m, n-m
		switch {
		case k.stats == nil || k.rows-k.done != record.ViewRows:
			continue
		case k.tiled:
			k.stats.others(k.w.b, k.done, k.rows)
		default:
			k.stats.add(k.w.b, k.done, k.rows)
		}
		k.done, k.tiled = k.rows, false
	}
	return nil
}

// features writes rows of the batch to the block, from its row k.rows on.
func (k *Intake) features(from, n int) error {
	b, d := k.w.b, len(k.feats)
	at, end := k.rows, k.rows+n
	if d > 0 && len(k.tiles) == d {
		if k.tiled = k.stats != nil && k.stats.splits.Plain && n == record.ViewRows && 4*len(b.X32) >= longBlock; k.tiled {
			if !k.stats.tile(b, at, k.tiles, from) {
				return k.notFinite(from, n)
			}
			return nil
		}
		for at < end {
			if at%f64.Lanes != 0 || at+f64.Lanes > end {
				dst := b.X32[at&^(f64.Lanes-1)*d+at%f64.Lanes:]
				for j, col := range k.tiles {
					v := col[from]
					if v-v != 0 {
						return errNotFinite("feature", k.s.Cols[k.feats[j]].Name)
					}
					dst[j*f64.Lanes] = v + 0
				}
				at, from = at+1, from+1
				continue
			}
			n := (end - at) &^ (f64.Lanes - 1)
			if !f64.Tile32(b.X32[at*d:], k.tiles, from, n/f64.Lanes) {
				return k.notFinite(from, n)
			}
			at, from = at+n, from+n
		}
		return nil
	}
	for j, c := range k.feats {
		if k.wide[j] != nil && at%f64.Lanes == 0 && n%f64.Lanes == 0 {
			if !f64.TileColumn64(b.X64[at*d+j*f64.Lanes:], d, k.wide[j][from:from+n]) {
				return errNotFinite("feature", k.s.Cols[c].Name)
			}
			continue
		}
		vals := k.w.buf[:n]
		nulls := readNumbers(&k.src, k.s.Cols[c].Type, k.s.Cols[c].Encoder, c, from, vals)
		for _, v := range vals {
			if v != v {
				nulls--
				k.taken.nulls = true
			}
		}
		if nulls < 0 { // Numbers makes NaNs of infinities
			return errNotFinite("feature", k.s.Cols[c].Name)
		}
		k.w.putAt(j, at, vals)
	}
	return nil
}

// notFinite returns the error of the first value in n rows that is not finite, by
// tile and then by column.
func (k *Intake) notFinite(from, n int) error {
	for at := from; at < from+n; at += f64.Lanes {
		for j, col := range k.tiles {
			for _, v := range col[at : at+f64.Lanes] {
				if v-v != 0 {
					return errNotFinite("feature", k.s.Cols[k.feats[j]].Name)
				}
			}
		}
	}
	return pgerr.Internal("a tile of training rows is not finite")
}

// categories writes the numbers of the categories of n rows of the batch.
func (k *Intake) categories(from, n int) error {
	for j, code := range k.codes {
		for i := range n {
			k.w.b.SetCode(k.rows+i, j, code(from+i))
		}
		if len(k.names[j].List) > maxDistinct {
			return errManyCategories(k.s.Cols[k.cats[j]].Name)
		}
	}
	return nil
}

// others writes the labels of n rows of the batch, and marks rows that the split column holds out.
func (k *Intake) others(from, n int) error {
	b := k.w.b
	if k.split >= 0 {
		for i := range n {
			if v := k.src.Bytes(k.split, from+i); v == nil || v[0] != 0 {
				k.taken.Hold(k.rows + i)
			}
		}
	}
	y := b.Y[k.rows : k.rows+n]
	if k.label < 0 {
		clear(y)
		return nil
	}
	name := k.s.Cols[k.label].Name
	if k.s.Classes {
		if k.src.cols[k.label].NullN() > 0 {
			for i := range n {
				if k.src.cols[k.label].IsNull(from + i) {
					return ErrLabelNull(name)
				}
			}
		}
		for i := range y {
			id := k.class(from + i)
			if id < 0 {
				return errManyClasses(&k.s.Cols[k.label])
			}
			y[i] = float64(id)
		}
		return nil
	}
	if len(k.truth) > 0 {
		whole := n &^ (f64.Lanes - 1)
		finite := f64.Tile32(k.narrow[:], k.truth, from, whole/f64.Lanes)
		f64.Widen(y, k.narrow[:whole])
		for i, v := range k.truth[0][from+whole : from+n] {
			finite = finite && v-v == 0
			y[whole+i] = float64(v + 0)
		}
		if !finite {
			return errNotFinite("label", name)
		}
		return nil
	}
	if readNumbers(&k.src, k.s.Cols[k.label].Type, Plain, k.label, from, y) > 0 {
		return ErrLabelNull(name)
	}
	for _, v := range y {
		if v != v {
			return errNotFinite("label", name)
		}
	}
	return nil
}

// KeyBytes estimates the bytes of the categories' keys and counts.
func (k *Intake) KeyBytes() (n int64) {
	for _, m := range k.names {
		n += m.bytes + int64(len(m.List))*internedBytes
	}
	return n
}

// Rows is the number of rows of the block so far.
func (k *Intake) Rows() int { return k.rows }

// End ends the block: it has k.Rows rows.
func (k *Intake) End() *Taken {
	t := k.taken
	t.Rows, t.keys = k.rows, k.ids.keys[:len(k.ids.keys):len(k.ids.keys)]
	t.cats = make([][]string, len(k.cats))
	for j, m := range k.names {
		t.cats[j] = m.List[:len(m.List):len(m.List)]
	}
	k.w.b.Clear(k.rows)
	if k.stats != nil {
		k.stats.add(k.w.b, k.done, k.rows)
	}
	k.last = &t
	return k.last
}

// Close completes the statistics of all blocks, which the last block has.
func (k *Intake) Close() (err error) {
	if k.stats != nil && k.last != nil {
		k.last.stats, err = k.stats.finish(k.last)
	}
	k.stats = nil
	return err
}

// Rest returns, after Close, the statistics that CollectTaken has not returned, nil for
// none: those of blocks that were not kept.
func (k *Intake) Rest() (st *Stats) {
	if k.last != nil {
		st, k.last.stats = k.last.stats, nil
	}
	return st
}

// Hold marks row i as held out.
func (t *Taken) Hold(i int) {
	if t.Held == nil {
		t.Held = make([]uint64, (t.Rows+63)/64)
	}
	t.Held[i/64] |= 1 << (i % 64)
}

// HeldBytes is the size of the marks.
func (t *Taken) HeldBytes() int64 { return int64((t.Rows+63)/64) * 8 }

func (t *Taken) held(i int) bool { return t.Held != nil && t.Held[i/64]>>(i%64)&1 != 0 }

// part lists the training rows, or those held out.
func (t *Taken) part(held bool) (rows []int32) {
	for i := range t.Rows {
		if t.held(i) == held {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// interned numbers categories.
type interned struct {
	numbering.Keys
	bytes int64 // of the keys
}

// internedBytes is about what a key takes beside its bytes: the headers, slots, and how
// often it was counted, each in an array of which up to half is free.
const internedBytes = 2 * (16 + 4*2 + 8)

// id returns the number of a category, -1 for NULL.
func (m *interned) id(key []byte) int32 {
	if key == nil {
		return -1
	}
	was := len(m.List)
	id := m.Number(key)
	if len(m.List) > was {
		m.bytes += int64(len(key))
	}
	return id
}

// classIDs numbers classes in the order in which they come.
type classIDs struct {
	keys []string
	ids  map[string]int32 // beyond a few
}

// few is up to how many classes are searched linearly.
const few = 8

// id returns the number of a class, -1 if there are too many of them, or for NULL.
func (c *classIDs) id(key []byte) int32 {
	if key == nil {
		return -1
	}
	if c.ids != nil {
		if id, ok := c.ids[string(key)]; ok {
			return id
		}
	} else {
		for i, k := range c.keys {
			if string(key) == k {
				return int32(i)
			}
		}
	}
	id := int32(len(c.keys))
	if id == MaxClasses {
		return -1
	}
	c.keys = append(c.keys, string(key))
	switch {
	case c.ids != nil:
		c.ids[c.keys[id]] = id
	case id == few:
		c.ids = make(map[string]int32, 2*few)
		for i, k := range c.keys {
			c.ids[k] = int32(i)
		}
	}
	return id
}
