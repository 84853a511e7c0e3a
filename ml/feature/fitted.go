package feature

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// Fitted is the encoders as training fitted them. It is immutable, and part of
// the model.
type Fitted struct {
	Cols   []FitCol // the features, in the query's order
	Label  record.Column
	Keys   []string // the classes' keys, in the order of their values; nil for a number
	More   []Target // the targets beside the label, once Without has separated them; not part of the canonical bytes
	Narrow bool     // features are rounded to float32
	// The shape of blocks, and so of parameters: Dense numbers and Codes codes
	// a row; the codes choose among OneHot slots.
	Dense, Codes, OneHot int
}

// Target is a column that is predicted.
type Target struct {
	record.Column
	Keys []string // as Fitted.Keys
}

// ForTarget returns the encoders for a training, or a model, of one of several targets, the
// first being the label.
func (f *Fitted) ForTarget(target int) *Fitted {
	one := *f
	if one.More = nil; target > 0 {
		one.Label, one.Keys = f.More[target-1].Column, f.More[target-1].Keys
	}
	return &one
}

// FitCol is one fitted encoder.
type FitCol struct {
	record.Column
	Encoder   Encoder
	Center    []float64   // subtracted, by element; none means 0
	Scale     []float64   // divided by, after the subtraction
	Fill      float64     // replaces NULL, before the subtraction
	Indicator bool        // one more number: 1 where NULL
	Cats      []string    // keys of the categories, ascending by bytes; the names of imputed columns
	NullSlot  bool        // NULL has a slot, after the categories
	Bounds    []float64   // of buckets; of Spline the knots; of TargetEncode the numbers of no category, then of each; those of package impute
	folds     [][]float64 // of TargetEncode, instead of Bounds for training rows, by fold; not part of the canonical bytes
	look      *lookup     // of Cats, nil where it is made for each use
	Dim       int         // of arrays, imputed columns, TargetEncode and Spline; of OneHot, the slots that categories without their own share
}

// Fit makes the encoders from the statistics of all rows. Its errors are 22023 and 22004 with the
// column's name.
func Fit(s *Spec, st *Stats) (*Fitted, error) {
	if st.Rows+st.Held == 0 {
		return nil, errNoRows()
	}
	if st.Rows == 0 {
		return nil, errAllHeldOut()
	}
	if s.WeightCol() >= 0 && st.Weight.Value() == 0 {
		return nil, errWeightZero()
	}
	for i := range st.Cols {
		if n := st.Cols[i].Number; n != nil {
			n.finalize()
		}
		for j := range st.Cols[i].Elems {
			st.Cols[i].Elems[j].finalize()
		}
	}
	weight := float64(st.Counted)
	if s.WeightCol() >= 0 {
		weight = st.Weight.Value()
	}
	f := &Fitted{Narrow: s.Narrow}
	for i := range s.Cols {
		c, cs := &s.Cols[i], &st.Cols[i]
		switch c.Role {
		case Label:
			f.Label = c.Column
			if s.Classes {
				var err error
				if f.Keys, err = classKeys(c, cs); err != nil {
					return nil, err
				}
			}
		case Feature:
			if c.Target && cs.Nulls > 0 {
				return nil, ErrLabelNull(c.Name)
			}
			fc, err := fitColumn(c, cs, st.Counted, weight, s.KeepMissing, s.Categories)
			if err != nil {
				return nil, err
			}
			if c.Encoder.imputes() {
				if err := fc.fitImputer(c, cs, s.Charge); err != nil {
					return nil, err
				}
			}
			if s.Silence && !c.NoIndicator && !c.Target && c.Encoder != TargetEncode {
				fc.silence(cs)
			}
			if c.Target {
				fc.Fill = math.NaN() // of a row held out
			}
			fc.look = &lookup{}
			f.Cols = append(f.Cols, fc)
		}
	}
	if err := f.fitTargets(s, st); err != nil {
		return nil, err
	}
	f.count()
	return f, nil
}

// fitTargets fits the encoders that depend on the target, once its classes are known.
func (f *Fitted) fitTargets(s *Spec, st *Stats) error {
	cols := f.Cols
	for i := range s.Cols {
		c := &s.Cols[i]
		if c.Role != Feature {
			continue
		}
		if c.Encoder == TargetEncode {
			if err := f.fitTarget(c, &cols[0], &st.Cols[i], s.Standardize); err != nil {
				return err
			}
			if s.Silence {
				cols[0].silence(&st.Cols[i])
			}
		}
		cols = cols[1:]
	}
	return nil
}

// classKeys returns the classes of a target.
func classKeys(c *Col, st *ColStats) (keys []string, err error) {
	for _, k := range st.Cats {
		if v := keyNumber(c.Type, []byte(k.Key)); c.Type.IsNumber() && v-v != 0 {
			return nil, errNotFinite("label", c.Name)
		}
		keys = append(keys, k.Key)
	}
	slices.SortFunc(keys, func(a, b string) int { return compareKeys(c.Type, a, b) })
	if len(keys) < 2 {
		return nil, errOneClass(c.Name)
	}
	return keys, nil
}

// sharedSlots is the most slots over which a hash distributes the categories that have
// none of their own.
const sharedSlots = 256

func fitColumn(c *Col, st *ColStats, rows int64, weight float64, keep bool, most int) (FitCol, error) {
	f := FitCol{Column: c.Column, Encoder: c.Encoder}
	if st.Nulls == rows {
		return f, errAllNull(c.Name)
	}
	hasNull := st.Nulls > 0
	if n := st.Number; n != nil {
		f.Fill = n.Mean
		switch c.Fill {
		case FillMedian:
			f.Fill = st.Sketch.Quantile(0.5)
		case FillMostFrequent:
			if k, ok := mostFrequent(st.Cats); ok {
				f.Fill = keyNumber(c.Type, []byte(k))
			}
		}
		f.Indicator = hasNull && !c.NoIndicator
		if keep && !c.NoIndicator { // an imputer that the statement has is kept although no NULL occurred
			f.Fill, f.Indicator = math.NaN(), false
		}
	}
	scale := func(center, by float64) {
		if !(by > 0) {
			by = 1
		}
		f.Center, f.Scale = []float64{center}, []float64{by}
	}
	switch c.Encoder {
	case Standard, Dates:
		scale(st.Number.Mean, st.Number.Std())
	case MinMax:
		scale(st.Number.Min, st.Number.Max-st.Number.Min)
	case MaxAbs:
		scale(0, math.Max(math.Abs(st.Number.Min), math.Abs(st.Number.Max)))
	case Robust:
		scale(st.Sketch.Quantile(0.5), st.Sketch.Quantile(0.75)-st.Sketch.Quantile(0.25))
	case OneHot, Ordinal:
		f.Cats = topCats(st.Cats, cmp.Or(c.MaxCategories, most, DefaultCategories), c.MaxCategories > 0)
		f.NullSlot = hasNull
		if c.Encoder == OneHot {
			f.Dim = min(len(st.Cats)-len(f.Cats), sharedSlots)
		}
	case Class:
		var err error
		f.Cats, err = classKeys(c, st)
		return f, err
	case TargetEncode:
		f.Cats = topCats(st.Cats, maxDistinct, true)
	case Hashed:
		f.Encoder, f.Dim, f.NullSlot = OneHot, c.Buckets, hasNull
	case Spline:
		f.fitKnots(c, st)
	case Terms:
		return f, f.fitTerms(c, st, weight)
	case Bucketize:
		f.Bounds, f.NullSlot, f.Indicator = c.Boundaries, hasNull, false
	case QuantileBucketize:
		f.NullSlot, f.Indicator = hasNull, false
		for i := 1; i < c.Buckets; i++ {
			b := st.Sketch.Quantile(float64(i) / float64(c.Buckets))
			if n := len(f.Bounds); n == 0 || b > f.Bounds[n-1] {
				f.Bounds = append(f.Bounds, b)
			}
		}
	case Array, PlainArray:
		f.Dim = len(st.Elems)
		f.Indicator = hasNull && !c.NoIndicator
		for j := range st.Elems {
			e := &st.Elems[j]
			if c.Encoder == Array {
				f.Center, f.Scale = append(f.Center, e.Mean), append(f.Scale, e.Std())
			}
		}
		gap := func(e NumberStats) bool { return e.N < rows-st.Nulls }
		if c.Encoder == PlainArray && (hasNull || slices.ContainsFunc(st.Elems, gap)) { // what is missing is encoded as the means
			for j := range st.Elems {
				f.Center, f.Scale = append(f.Center, st.Elems[j].Mean), append(f.Scale, 1)
			}
		}
	}
	return f, nil
}

// silence makes the encoder of a column that is the same in all rows give zeros and no category,
// and that of an array zeros for such elements: then the weights of what was never learnt from
// count for nothing, whatever the column is at prediction.
func (c *FitCol) silence(st *ColStats) {
	inf := math.Inf(1)
	switch {
	case len(st.Elems) > 0:
		for j, e := range st.Elems {
			if e.varies() {
				continue
			}
			if len(c.Center) == 0 || c.Encoder == PlainArray {
				c.Encoder, c.Center, c.Scale = Array, make([]float64, c.Dim), slices.Repeat([]float64{1}, c.Dim)
			}
			c.Center[j], c.Scale[j] = e.Min, inf
		}
	case st.varies() || c.Encoder == OneHot && c.Dim > 0:
	case c.Dim > 0:
		c.Center, c.Scale = make([]float64, c.Dim), slices.Repeat([]float64{inf}, c.Dim)
	default:
		center := 0.0
		if st.Number != nil {
			center = st.Number.Min
		}
		c.Center, c.Scale = []float64{center}, []float64{inf}
	}
}

// Silent reports whether the encoder gives zeros and no category.
func (c *FitCol) Silent() bool { return c.Dim == 0 && len(c.Scale) == 1 && math.IsInf(c.Scale[0], 1) }

// Uneven reports whether there are columns, but for that one, whose numbers are of any scale.
func (f *Fitted) Uneven(but string) bool {
	return slices.ContainsFunc(f.Cols, func(c FitCol) bool {
		switch c.Encoder {
		case Plain, PlainArray, MinMax, MaxAbs, Robust, Ordinal, Spline:
			return c.Name != but
		case TargetEncode, NearestRows, Regressions:
			return len(c.Center) == 0
		}
		return false
	})
}

// Without returns the encoders without those of these columns, each of which is one
// number, and which numbers of a block they are. They are its further targets.
func (f *Fitted) Without(columns []string) (*Fitted, []int) {
	out := *f
	parted := make([]int, len(columns))
	out.Cols, out.More = nil, make([]Target, len(columns))
	at := 0
	for _, c := range f.Cols {
		if k := slices.Index(columns, c.Name); k >= 0 {
			parted[k], out.More[k] = at, Target{Column: c.Column}
			if c.Encoder == Class {
				out.More[k].Keys = c.Cats
			}
		} else {
			out.Cols = append(out.Cols, c)
		}
		dense, _ := c.shape()
		at += dense
	}
	out.count()
	return &out, parted
}

// With is the reverse of Without: f's encoders of these columns, with the classes of
// others, and others' encoders for all else.
func (f *Fitted) With(columns []string, others *Fitted) *Fitted {
	out := *others
	out.Cols, out.More = nil, nil
	rest := others.Cols
	for _, c := range f.Cols {
		if k := slices.Index(columns, c.Name); k < 0 {
			c, rest = rest[0], rest[1:]
		} else if c.Encoder == Class {
			c.Cats = others.More[k].Keys
		}
		out.Cols = append(out.Cols, c)
	}
	out.count()
	return &out
}

// shape returns the numbers, codes and slots of codes of a column.
func (c *FitCol) shape() (dense int, codes []int) {
	null := 0
	if c.NullSlot {
		null = 1
	}
	switch c.Encoder {
	case OneHot:
		return 0, []int{len(c.Cats) + c.Dim + null}
	case Bucketize, QuantileBucketize:
		return 0, []int{len(c.Bounds) + 1 + null}
	case Ordinal, Class:
		return 1, nil
	case Terms:
		return 0, nil
	case Dates:
		dense, codes = 1, []int{12, 7}
		if c.Type.OID != types.DateOID {
			codes = append(codes, 24)
		}
	case Array, PlainArray, TargetEncode, Spline, NearestRows, Regressions:
		dense = c.Dim
	default:
		dense = 1
	}
	if c.Indicator {
		dense++
	}
	return dense, codes
}

// slots is how many slots a column has, whose codes have these.
func (c *FitCol) slots(codes []int) (n int) {
	if c.Encoder == Terms {
		return len(c.Cats)
	}
	for _, k := range codes {
		n += k
	}
	return n
}

// count sums the shapes up.
func (f *Fitted) count() {
	f.Dense, f.Codes, f.OneHot = 0, 0, 0
	for i := range f.Cols {
		c := &f.Cols[i]
		dense, codes, slots := c.Widths()
		f.Dense += dense
		f.Codes += codes
		f.OneHot += slots
	}
}

// Params is the number of parameters of one output without the intercept.
func (f *Fitted) Params() int { return f.Dense + f.OneHot }

// Slot describes a parameter.
type Slot struct {
	Column   string // the input column
	Name     string // e.g. "city = Oslo"; the column's name for a plain number
	Category string // of a one-hot slot
	Center   float64
	Scale    float64 // the number is (value - Center) / Scale; infinite where it is always 0
}

// Slots lists the parameters of one output: Dense numbers, then OneHot slots.
func (f *Fitted) Slots() []Slot {
	var dense, oneHot []Slot
	for i := range f.Cols {
		c := &f.Cols[i]
		n, codes := c.shape()
		for j := range n {
			s := Slot{Column: c.Name, Name: c.Name, Scale: 1}
			switch {
			case c.Indicator && j == n-1:
				s.Name += " is null"
			case c.Encoder == Spline:
				s.Name = fmt.Sprintf("%s spline %d", c.Name, j+1)
			case c.Encoder == TargetEncode && c.Dim == 1:
				s.Name += " (mean target)"
			case c.Encoder == TargetEncode && j < len(f.Keys):
				s.Name = fmt.Sprintf("%s (share of %s)", c.Name, KeyText(f.Label.Type, f.Keys[j]))
			case c.Dim > 0:
				s.Name = c.ElementName(j)
			case c.Encoder == Dates:
				s.Name += " (days)"
			}
			if j < len(c.Center) && !(c.Indicator && j == n-1) {
				if s.Scale = c.Scale[j]; c.Encoder != PlainArray {
					s.Center = c.Center[j]
				}
			}
			dense = append(dense, s)
		}
		if c.Encoder == Terms {
			for _, term := range c.Cats {
				oneHot = append(oneHot, Slot{Column: c.Name, Name: c.Name + " has " + term, Category: term, Scale: c.Bounds[termsScale]})
			}
		}
		for k, slots := range codes {
			for j := range slots {
				cat, name := "NULL", ""
				switch {
				case c.Encoder == Dates:
					part := [...]string{"month", "weekday", "hour"}[k]
					base := 1 - k>>1 // months and weekdays from 1, hours from 0
					cat = fmt.Sprint(j + base)
					name = fmt.Sprintf("%s %s = %s", c.Name, part, cat)
				case c.NullSlot && j == slots-1:
					name = c.Name + " is null"
				case c.Encoder == OneHot && j >= len(c.Cats):
					cat = fmt.Sprintf("others %d of %d", j-len(c.Cats)+1, c.Dim)
					name = c.Name + " = " + cat
				case c.Encoder == OneHot:
					cat = KeyText(c.Type, c.Cats[j])
					name = c.Name + " = " + cat
				default:
					cat = BucketText(c.Bounds, j)
					name = c.Name + " in " + cat
				}
				s := Slot{Column: c.Name, Name: name, Category: cat, Scale: 1}
				if c.Silent() {
					s.Scale = math.Inf(1)
				}
				oneHot = append(oneHot, s)
			}
		}
	}
	return append(dense, oneHot...)
}

// ElementName names number j of an array.
func (c *FitCol) ElementName(j int) string {
	if c.Encoder.imputes() {
		return c.Cats[j] + " (imputed)"
	}
	return fmt.Sprintf("%s[%d]", c.Name, j+1)
}

// BucketText names bucket j of those with these bounds.
func BucketText(b []float64, j int) string {
	lo, hi := "-inf", "inf"
	if j > 0 {
		lo = fmt.Sprint(b[j-1])
	}
	if j < len(b) {
		hi = fmt.Sprint(b[j])
	}
	return "[" + lo + ", " + hi + ")"
}

// Encode writes the canonical bytes.
func (f *Fitted) Encode(e *canon.E) {
	e.U32(uint32(len(f.Cols)))
	for i := range f.Cols {
		c := &f.Cols[i]
		e.Str(c.Name)
		e.Type(c.Type)
		e.U8(uint8(c.Encoder))
		e.F64s(c.Center)
		e.F64s(c.Scale)
		e.F64(c.Fill)
		e.Bool(c.Indicator)
		e.Strs(c.Cats)
		e.Bool(c.NullSlot)
		e.F64s(c.Bounds)
		e.U32(uint32(c.Dim))
	}
	e.Str(f.Label.Name)
	e.Type(f.Label.Type)
	e.Strs(f.Keys)
	e.Bool(f.Narrow)
}

// DecodeFitted reads what Encode wrote.
func DecodeFitted(d *canon.D) *Fitted {
	f := &Fitted{}
	for range d.Count(40) {
		c := FitCol{Column: record.Column{Name: d.Str(), Type: d.Type()}, Encoder: Encoder(d.U8()), Center: d.F64s(), Scale: d.F64s(),
			Fill: d.F64(), Indicator: d.Bool(), Cats: d.Strs(), NullSlot: d.Bool(), Bounds: d.F64s(), Dim: int(d.U32()), look: &lookup{}}
		if c.Encoder == Auto || c.Encoder >= numEncoders || len(c.Center) != len(c.Scale) || c.Dim < 0 || c.Dim > 1<<20 ||
			c.Dim > 0 && len(c.Center) != 0 && len(c.Center) != c.Dim || !c.shaped() {
			d.Fail()
		}
		f.Cols = append(f.Cols, c)
	}
	f.Label = record.Column{Name: d.Str(), Type: d.Type()}
	f.Keys = d.Strs()
	f.Narrow = d.Bool()
	if d.OK() {
		f.count()
	}
	return f
}

// shaped reports whether there are as many numbers as the encoder needs.
func (c *FitCol) shaped() bool {
	switch c.Encoder {
	case Hashed: // it is a OneHot
		return false
	case Terms:
		return c.Type.IsString() && (len(c.Bounds) == termsHead || len(c.Bounds) == termsHead+len(c.Cats)) && c.grams().Valid() && c.Bounds[termsScale] >= 1
	case TargetEncode:
		return c.Dim > 0 && c.Dim <= MaxClasses && len(c.Bounds) == c.Dim*(len(c.Cats)+1)
	case NearestRows, Regressions:
		return len(c.Cats) == c.Dim && c.filler() != nil
	case Spline:
		d := c.Dim - len(c.Bounds) + 1
		return len(c.Bounds) > 1 && len(c.Bounds) <= maxKnots && d >= 0 && d <= maxDegree && ascending(c.Bounds)
	}
	return true
}

// NewFitted makes encoders that no training fitted: those of a model that came from elsewhere.
func NewFitted(cols []FitCol, label record.Column, keys []string, narrow bool) *Fitted {
	f := &Fitted{Cols: cols, Label: label, Keys: keys, Narrow: narrow}
	for i := range f.Cols {
		f.Cols[i].look = &lookup{}
	}
	f.count()
	return f
}

// scales returns, for columns that are one number or a code, what is subtracted
// from each number and what the difference is multiplied by; plain says that all
// are 0 and 1.
func (f *Fitted) scales() (center, inv []float64, plain bool) {
	plain = true
	for i := range f.Cols {
		c, off, by := &f.Cols[i], 0.0, 1.0
		if c.Encoder == OneHot {
			continue
		}
		if len(c.Center) > 0 {
			off, by = c.Center[0], 1/c.Scale[0]
		}
		center, inv, plain = append(center, off), append(inv, by), plain && off == 0 && by == 1
	}
	return center, inv, plain
}
