package profiling

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
)

// Limits of profiles, which are kept in the catalog.
const (
	mostProfiled  = 1024    // columns; there is no profile of more
	profileBins   = 1 << 12 // of all numbers together
	leastBins     = 16      // of a column
	fewBins       = 64      // of a column: then fewer keys do
	mostTopValues = 100     // categories of a column
	longestName   = 256     // bytes of a category's; longer ones are among all others
)

// profiled is a column of a profile.
type profiled struct {
	col         int // among feature.Fitted.Cols
	name        string
	dense, null int // which numbers of a block are the values, and say that there is none; -1 for none
	code        int // which code it is; -1 for none
	first       int32
}

// columnsOf lists the columns of a profile; nil where there are too many, or no values.
func columnsOf(f *feature.Fitted) (out []profiled) {
	var dense, code, oneHot int
	for i := range f.Cols {
		c := &f.Cols[i]
		n, codes, slots := c.Widths()
		p := profiled{col: i, name: c.Name, dense: -1, null: -1, code: -1}
		values := n
		if c.Indicator {
			values, p.null = n-1, dense+n-1
		}
		if c.OutOfFold() {
			values = 0 // training rows have the numbers of their folds, which other rows do not have
		}
		for j := range values {
			if p.dense = dense + j; c.Dim > 0 && n > 0 {
				p.name = c.ElementName(j)
			}
			out = append(out, p)
		}
		if n == 0 && codes == 1 {
			p.code, p.first = code, int32(oneHot)
			out = append(out, p)
		}
		dense, code, oneHot = dense+n, code+codes, oneHot+slots
		if c.Encoder == feature.Instant || len(out) > mostProfiled {
			return nil
		}
	}
	return out
}

// valuesOf returns how many values a column of categories has, beside NULL; 0 for one of numbers.
func valuesOf(c *feature.FitCol) int {
	switch c.Encoder {
	case feature.OneHot:
		return len(c.Cats) + c.Dim
	case feature.Ordinal:
		return len(c.Cats)
	case feature.Bucketize, feature.QuantileBucketize:
		return len(c.Bounds) + 1
	}
	return 0
}

// slot returns the number of the value in row i of a column of categories: slots for NULL, -1 for none.
func (p *profiled) slot(c *feature.FitCol, b *block.Block, i int) int {
	if p.code >= 0 {
		if k := b.CodeAt(i, p.code); k >= 0 {
			return int(k - p.first)
		}
		return -1
	}
	k := int(b.Value(i, p.dense)) - 1 // Ordinal: 0 is none
	if k < 0 && c.NullSlot {
		k = len(c.Cats)
	}
	return k
}

// slotName is the name of a value of a column of categories.
func slotName(c *feature.FitCol, k int) string {
	if c.Encoder == feature.Bucketize || c.Encoder == feature.QuantileBucketize {
		return feature.BucketText(c.Bounds, k)
	}
	return feature.KeyText(c.Type, c.Cats[k])
}

// namedValues returns how many of the values have a name: those that share slots have none.
func namedValues(c *feature.FitCol) int {
	if c.Encoder == feature.OneHot {
		return len(c.Cats)
	}
	return valuesOf(c)
}

// Draft is what a profile is made of: of some rows, or merged.
type Draft struct {
	Rows int64
	Cols []draftCol
}

type draftCol struct {
	missing int64
	numbers histogram
	slots   []int64 // by value; the last is for those without one
}

// DraftBytes is about the most memory that a draft takes.
func DraftBytes(f *feature.Fitted) int64 {
	return int64(len(columnsOf(f)))*(histogramSize*16*2+tallyBytes) + scratchBytes
}

// Drafter counts the values of blocks. It is for one goroutine.
type Drafter struct {
	f       *feature.Fitted
	cols    []profiled
	centers []float64
	draft   Draft
	scratch *keyCounts
	tallies []*tally // of columns of numbers, what is not in the draft yet; nil for others
	since   int      // rows in tallies
	room    [columnsAtOnce][otherKeys]uint32
}

// NewDrafter makes one for rows with these Centers; nil where their features have no profile.
func NewDrafter(f *feature.Fitted, centers []float64) *Drafter {
	d := &Drafter{f: f, cols: columnsOf(f), centers: centers, scratch: &keyCounts{}}
	if d.cols == nil || len(d.cols) != len(centers) {
		return nil
	}
	d.draft.Cols, d.tallies = make([]draftCol, len(d.cols)), make([]*tally, len(d.cols))
	for k, p := range d.cols {
		if n := valuesOf(&f.Cols[p.col]); n > 0 {
			d.draft.Cols[k].slots = make([]int64, n+2)
		} else {
			d.tallies[k] = &tally{low: coarse(len(d.cols))}
		}
	}
	return d
}

// Centers returns, for each column of a profile, about what number of a block is in the middle: numbers are told
// apart the better the nearer they are to it. st are the statistics of the rows by the columns of s.
func Centers(f *feature.Fitted, s *feature.Spec, st *feature.Stats) (out []float64) {
	for _, p := range columnsOf(f) {
		c, mid := &f.Cols[p.col], 0.0
		if of := statsOf(s, st, c.Name); of != nil && valuesOf(c) == 0 && c.Dim == 0 {
			if of.Number != nil {
				mid = of.Number.Mean
			}
			if len(c.Center) > 0 {
				mid = (mid - c.Center[0]) / c.Scale[0]
			}
		}
		if mid-mid != 0 {
			mid = 0
		}
		out = append(out, mid)
	}
	return out
}

// statsOf returns the statistics of a feature, nil for none.
func statsOf(s *feature.Spec, st *feature.Stats, name string) *feature.ColStats {
	at := slices.IndexFunc(s.Cols, func(x feature.Col) bool { return x.Role == feature.Feature && x.Name == name })
	if at < 0 {
		return nil
	}
	return &st.Cols[at]
}

// Draft returns what was counted.
func (d *Drafter) Draft() *Draft {
	d.settle()
	return &d.draft
}

// settle moves what tallies counted into the draft.
func (d *Drafter) settle() {
	for k, t := range d.tallies {
		if t != nil {
			h, missing := t.take()
			to := &d.draft.Cols[k]
			to.numbers, to.missing = to.numbers.merge(h), to.missing+missing
		}
	}
	d.since = 0
}

// Add counts the rows of a block that have a weight.
func (d *Drafter) Add(b *block.Block) {
	var weights []float64
	if !b.Unit() {
		weights = b.W[:b.Rows]
	}
	for i := range b.Rows {
		if weights == nil || weights[i] > 0 {
			d.draft.Rows++
		}
	}
	if d.since+b.Rows > math.MaxUint32 {
		d.settle()
	}
	d.since += b.Rows
	if b.X32 != nil {
		numbers(d, b.X32, b, weights)
	} else {
		numbers(d, b.X64, b, weights)
	}
	for k := range d.cols {
		p, to := &d.cols[k], &d.draft.Cols[k]
		c := &d.f.Cols[p.col]
		if to.slots == nil {
			continue
		}
		for i := range b.Rows {
			if weights != nil && !(weights[i] > 0) {
				continue
			}
			s := p.slot(c, b, i)
			if s < 0 {
				s = len(to.slots) - 1
			}
			to.slots[s]++
		}
	}
}

// MergeDrafts adds the second to the first, which are of the same features.
func MergeDrafts(a, b *Draft) {
	a.Rows += b.Rows
	for k := range min(len(a.Cols), len(b.Cols)) {
		x, y := &a.Cols[k], &b.Cols[k]
		x.missing += y.missing
		x.numbers = x.numbers.merge(y.numbers)
		for i := range min(len(x.slots), len(y.slots)) {
			x.slots[i] += y.slots[i]
		}
	}
}

// Encode implements family.Message.
func (d *Draft) Encode(e *canon.E) {
	e.I64(d.Rows)
	e.U32(uint32(len(d.Cols)))
	for i := range d.Cols {
		c := &d.Cols[i]
		e.I64(c.missing)
		e.I64s(c.slots)
		e.U8(c.numbers.low)
		e.U32(uint32(len(c.numbers.items)))
		for _, it := range c.numbers.items {
			e.U32(it.key)
			e.I64(it.n)
		}
	}
}

// DecodeDraft reads what Encode wrote.
func DecodeDraft(d *canon.D) *Draft {
	out := &Draft{Rows: d.I64()}
	for range d.Count(17) {
		c := draftCol{missing: d.I64(), slots: d.I64s(), numbers: histogram{low: d.U8()}}
		for range d.Count(12) {
			c.numbers.items = append(c.numbers.items, keyCount{d.U32(), d.I64()})
		}
		if len(c.numbers.items) > histogramSize || c.numbers.low > keyBits {
			d.Fail()
		}
		out.Cols = append(out.Cols, c)
	}
	return out
}

// budgetOf returns how many bins each number of so many columns has at most.
func budgetOf(columns int) int {
	return min(max(profileBins/columns, leastBins), profile.MostBins-1)
}

// coarse returns how many low bits the histograms of so many columns do without. The edges of a few wide bins need not be
// as exact as those of hundreds, and where the counts of all columns leave the caches each is a miss: of 500 columns of
// normal numbers the profile took as much time as their products.
func coarse(columns int) uint8 {
	if budgetOf(columns) < fewBins {
		return 2
	}
	return 0
}

// Profile makes the profile of the rows that d counted; nil where it is of other features. st are their statistics by
// the columns of s.
func Profile(f *feature.Fitted, d *Draft, centers []float64, s *feature.Spec, st *feature.Stats) *profile.Profile {
	cols := columnsOf(f)
	if cols == nil || len(d.Cols) != len(cols) {
		return nil
	}
	out := &profile.Profile{Rows: d.Rows}
	budget := budgetOf(len(cols))
	for k, p := range cols {
		c, from := &f.Cols[p.col], &d.Cols[k]
		if n := valuesOf(c); n == 0 != (from.slots == nil) || n > 0 && len(from.slots) != n+2 {
			return nil
		}
		col := profile.Column{Name: p.name, Missing: from.missing}
		if from.slots == nil {
			col.Numeric, col.Center = true, centers[k]
			col.Edges, col.Counts = from.numbers.bins(budget)
			if of := statsOf(s, st, c.Name); of != nil && !c.Indicator && c.Dim == 0 && col.Missing == 0 { // what was imputed is among the values
				col.Missing = of.Nulls
				without(col.Counts, col.Edges, imputed(c)-col.Center, col.Missing)
			}
		} else {
			categories(&col, c, from.slots)
		}
		out.Columns = append(out.Columns, col)
	}
	return out
}

// imputed is what stands in a block for NULL.
func imputed(c *feature.FitCol) float64 {
	v := c.Fill
	if len(c.Center) > 0 {
		v = (v - c.Center[0]) * (1 / c.Scale[0])
	}
	return v
}

// without takes so many rows of a number out of the bins.
func without(counts []int64, edges []float64, v float64, rows int64) {
	if rows > 0 {
		at := binOf(edges, float64(float32(v)))
		counts[at] = max(counts[at]-rows, 0)
	}
}

// categories gives the most frequent categories a bin each. Ties are by their order.
func categories(col *profile.Column, c *feature.FitCol, slots []int64) {
	n := len(slots) - 2
	col.Missing = slots[n]
	order := make([]int, namedValues(c))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(slots[b], slots[a]) })
	var rest int64
	for i, rows := range slots {
		if i != n {
			rest += rows
		}
	}
	for _, k := range order {
		if len(col.Categories) == mostTopValues {
			break
		}
		name := slotName(c, k)
		if len(name) > longestName {
			continue // the catalog does not keep texts of documents
		}
		col.Categories = append(col.Categories, name)
		col.Counts = append(col.Counts, slots[k])
		rest -= slots[k]
	}
	col.Counts = append(col.Counts, rest)
}
