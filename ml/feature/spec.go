package feature

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Role is what a column is for.
type Role uint8

// The roles.
const (
	Ignored Role = iota
	Feature
	Label  // what is predicted
	Weight // how much a row counts
	Event  // whether the event happened whose time is the label: 0 or 1, or a boolean
	Key    // the sequence that a row belongs to, or its position in it
	Split  // boolean: true and NULL rows are held out
)

// Encoder is how a feature column becomes numbers.
type Encoder uint8

// The encoders. Their numbers are part of models' bytes: append only.
const (
	Auto              Encoder = iota // chosen by type and Spec.Standardize
	Plain                            // the number itself
	Standard                         // (x - mean) / standard deviation
	MinMax                           // to [0, 1]
	MaxAbs                           // divided by the largest magnitude
	Robust                           // (x - median) / interquartile range
	OneHot                           // one slot a category
	Ordinal                          // the category's number from 1, 0 for others, as one number
	Dates                            // days, month, weekday, hour
	Bucketize                        // one-hot over the intervals that Boundaries make
	QuantileBucketize                // one-hot over Buckets intervals of equal frequency
	Array                            // one number an element, standardised
	PlainArray                       // one number an element
	Class                            // the class's number from 0, as one number: of a target beside the label
	Instant                          // a time as it is: an integer, a date's days or a timestamp's microseconds
	TargetEncode                     // the mean of the target over the rows of the category, of each class its share
	Hashed                           // one-hot over Buckets slots that a hash gives; fitted it is a OneHot without categories of its own
	Spline                           // B-splines over Buckets knots at quantiles
	Terms                            // words of texts, counted or by TF-IDF: sparse numbers
	NearestRows                      // numbers of several columns, gaps filled from the nearest rows of the training
	Regressions                      // the same, filled by regressions of the columns on each other
	numEncoders
)

// Fill is what stands for NULL in a column of numbers.
type Fill uint8

// The fills.
const (
	FillMean Fill = iota
	FillMedian
	FillMostFrequent
)

// DefaultCategories is the number of categories that a one-hot column keeps at least,
// where nothing says how many.
const DefaultCategories = 1000

// Col is a column of the training query with its role and encoder.
type Col struct {
	record.Column
	Role          Role
	Encoder       Encoder
	Fill          Fill
	NoIndicator   bool      // no column that says where NULLs were
	MaxCategories int       // 0: Spec.Categories
	Boundaries    []float64 // Bucketize: ascending; TargetEncode: how strong to smooth, none for what the data suggest; Spline: the degree; Terms: see termsLeast; NearestRows and Regressions: settings of package impute
	Buckets       int       // QuantileBucketize; Hashed: slots; Spline: knots; Terms: how many terms at most, 0 for all
	Elements      []string  // NearestRows and Regressions: the names of the columns
	// Target marks a Feature that is a further target beside the label. It is encoded
	// with the features, as a number or by Class, and separated from them by
	// Fitted.Without.
	Target bool
}

// classes reports whether the column is predicted as a class.
func (s *Spec) classes(c *Col) bool { return c.Role == Label && s.Classes || c.Encoder == Class }

// Spec describes the columns of a training.
type Spec struct {
	Cols        []Col
	Standardize bool
	Classes     bool // the label is a class, not a number
	Narrow      bool // keep features as float32
	KeepMissing bool // NULL numbers stay NaN, without an indicator
	// Categories is how many categories a one-hot column keeps unless it says so itself,
	// 0 for DefaultCategories. It follows from the family, and is not encoded.
	Categories int
	Silence    bool // columns that are the same in all rows say nothing; see FitCol.Silent
	// Charge is asked for the memory of what has no other bound: the terms of texts, and rows by which gaps are filled. nil: nobody asks. It is of a node, and not encoded.
	Charge func(bytes int64) error
	// Gaps has NaN in arrays stand for a missing element, which is imputed. It follows from
	// the options, and is not encoded.
	Gaps bool
}

// Columns are the columns of the dataset.
func (s *Spec) Columns() []record.Column {
	out := make([]record.Column, len(s.Cols))
	for i, c := range s.Cols {
		out[i] = c.Column
	}
	return out
}

// LabelCol returns the label's column number, or -1.
func (s *Spec) LabelCol() int { return s.roleCol(Label) }

// Targets are the numbers of the columns that are predicted beside the label.
func (s *Spec) Targets() (cols []int) {
	for i := range s.Cols {
		if s.Cols[i].Target {
			cols = append(cols, i)
		}
	}
	return cols
}

// WeightCol returns the weight's column number, or -1.
func (s *Spec) WeightCol() int { return s.roleCol(Weight) }

// EventCol returns the event's column number, or -1.
func (s *Spec) EventCol() int { return s.roleCol(Event) }

func (s *Spec) roleCol(r Role) int {
	for i, c := range s.Cols {
		if c.Role == r {
			return i
		}
	}
	return -1
}

func isCategory(t types.Type) bool {
	return t.IsString() && t.OID != types.JSONOID && t.OID != types.JSONBOID || t.OID == types.BoolOID
}

// ToldApart reports whether the values of a type can be told apart, as OneHot does.
func ToldApart(t types.Type) bool {
	return t.IsNumber() || isCategory(t) || t.OID == types.DateOID || t.OID == types.UUIDOID
}

// Resolve checks the spec and replaces Auto by what the types choose. The
// errors name the column.
func (s *Spec) Resolve() error {
	features, labels := 0, 0
	for i := range s.Cols {
		c := &s.Cols[i]
		switch c.Role {
		case Label:
			labels++
			if err := checkLabel(c, s.Classes); err != nil {
				return err
			}
		case Weight:
			if !c.Type.IsNumber() {
				return pgerr.New(pgerr.DatatypeMismatch, "weight column %q must be of a numeric type", c.Name).OnColumn(c.Name)
			}
		case Event:
			if !c.Type.IsNumber() && c.Type.OID != types.BoolOID {
				return pgerr.New(pgerr.DatatypeMismatch, "event column %q must be boolean or numeric", c.Name).OnColumn(c.Name)
			}
		case Feature:
			if c.Target {
				if err := checkLabel(c, c.Encoder == Class); err != nil {
					return err
				}
				if c.NoIndicator = true; c.Encoder != Class {
					c.Encoder = Plain
				}
			} else {
				features++
			}
			if err := s.resolveFeature(c); err != nil {
				return err
			}
		}
	}
	if features == 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "the training query has no feature columns").
			WithHint("Every column that an option gives no other part is a feature; add some to the query.")
	}
	if labels > 1 {
		return pgerr.Unsupported("models with more than one target column are not supported")
	}
	return nil
}

func checkLabel(c *Col, class bool) error {
	if !class && !c.Type.IsNumber() {
		e := pgerr.New(pgerr.DatatypeMismatch, "label column %q must be of a numeric type for regression", c.Name).OnColumn(c.Name)
		if isCategory(c.Type) {
			return e.WithHint("Use logistic_regression to predict classes.")
		}
		return e.WithHint("Compute a number of it in the query.")
	}
	if class && !c.Type.IsNumber() && !isCategory(c.Type) {
		return pgerr.Unsupported("label column %q has a type that cannot be a class", c.Name).OnColumn(c.Name)
	}
	return nil
}

func (s *Spec) resolveFeature(c *Col) error {
	if c.Encoder == Auto {
		switch {
		case c.Type.IsNumber() && s.Standardize:
			c.Encoder = Standard
		case c.Type.IsNumber():
			c.Encoder = Plain
		case isCategory(c.Type):
			c.Encoder = OneHot
		case c.Type.IsStamp():
			c.Encoder = Dates
		case c.Type.IsArray() && s.Standardize:
			c.Encoder = Array
		case c.Type.IsArray():
			c.Encoder = PlainArray
		default:
			return pgerr.Unsupported("feature column %q has a type that models cannot use", c.Name).OnColumn(c.Name).WithHint("%s", c.instead())
		}
	}
	ok, takes := false, "numbers"
	switch c.Encoder {
	case Plain, Standard, MinMax, MaxAbs, Robust, Bucketize, QuantileBucketize, Spline:
		ok = c.Type.IsNumber()
	case OneHot, Ordinal, Class, TargetEncode, Hashed:
		ok, takes = ToldApart(c.Type), "categories"
	case Terms:
		ok, takes = c.Type.IsString() && isCategory(c.Type), "texts"
	case Dates, Instant:
		ok, takes = c.Type.IsStamp() || c.Encoder == Instant && c.Type.IsInteger(), "times"
	case Array, PlainArray, NearestRows, Regressions:
		e, arr := c.Type.Elem()
		ok = arr && e.IsNumber()
	}
	switch {
	case !ok && c.Type.IsArray():
		return pgerr.Unsupported("feature column %q has a type that models cannot use", c.Name).OnColumn(c.Name).
			WithHint("Arrays of numbers are features; of others make columns in the query, or leave it out.")
	case !ok:
		return pgerr.New(pgerr.DatatypeMismatch, "feature column %q is of type %s, and its encoder takes %s", c.Name, types.TypeName(c.Type.OID), takes).OnColumn(c.Name).
			WithHint("Cast it in the query, or encode it by another function.")
	case c.Encoder == QuantileBucketize && (c.Buckets < 2 || c.Buckets > 1000):
		return pgerr.New(pgerr.InvalidParameterValue, "the number of quantile buckets of column %q must be between 2 and 1000", c.Name).OnColumn(c.Name)
	case c.Encoder == Bucketize && (len(c.Boundaries) == 0 || !ascending(c.Boundaries)):
		return pgerr.New(pgerr.InvalidParameterValue, "the bucket boundaries of column %q must be ascending numbers", c.Name).OnColumn(c.Name)
	}
	return nil
}

// instead says what to do with a column of a type that is no feature.
func (c *Col) instead() string {
	name := lex.QuoteName(c.Name)
	switch c.Type.Class() {
	case types.ClassJSON, types.ClassJSONB:
		return "Take what matters out of it in the query, such as (" + name + "->>'key')::float8, or leave it out."
	case types.ClassInterval, types.ClassTime:
		return "Make it a number in the query, such as extract(epoch from " + name + "), or leave it out."
	}
	return "Cast it to text in the query, or compute numbers of it, or leave it out."
}

func ascending(v []float64) bool {
	for i, x := range v {
		if x-x != 0 || i > 0 && x <= v[i-1] {
			return false
		}
	}
	return true
}

// AutoNarrow reports whether float32 holds every feature exactly: the precision
// to choose where none was asked for.
func (s *Spec) AutoNarrow() bool {
	for _, c := range s.Cols {
		switch {
		case c.Role != Feature || c.Encoder == Class:
			continue
		case c.Encoder == TargetEncode || c.Encoder == Spline || c.Encoder.imputes(): // computed of more than the value
			return false
		}
		t := c.Type
		if e, ok := t.Elem(); ok {
			t = e
		}
		switch t.Form() {
		case types.FormFloat32, types.FormInt16, types.FormBool:
		default:
			if !isCategory(t) {
				return false
			}
		}
	}
	return true
}

// Encode writes the canonical bytes of the spec.
func (s *Spec) Encode(e *canon.E) {
	e.U32(uint32(len(s.Cols)))
	for _, c := range s.Cols {
		e.Str(c.Name)
		e.Type(c.Type)
		e.U8(uint8(c.Role))
		e.U8(uint8(c.Encoder))
		e.U8(uint8(c.Fill))
		e.Bool(c.NoIndicator)
		e.U32(uint32(c.MaxCategories))
		e.F64s(c.Boundaries)
		e.U32(uint32(c.Buckets))
		if e.Bool(c.Target); c.Encoder.imputes() {
			e.Strs(c.Elements)
		}
	}
	e.Bool(s.Standardize)
	e.Bool(s.Classes)
	e.Bool(s.Narrow)
	e.Bool(s.KeepMissing)
	e.Bool(s.Silence)
}

// DecodeSpec reads what Encode wrote.
func DecodeSpec(d *canon.D) *Spec {
	s := &Spec{}
	for range d.Count(20) {
		c := Col{Column: record.Column{Name: d.Str(), Type: d.Type()}, Role: Role(d.U8()), Encoder: Encoder(d.U8()), Fill: Fill(d.U8()),
			NoIndicator: d.Bool(), MaxCategories: int(d.U32()), Boundaries: d.F64s(), Buckets: int(d.U32()), Target: d.Bool()}
		if c.Role > Split || c.Encoder >= numEncoders || c.Fill > FillMostFrequent {
			d.Fail()
		}
		if c.Encoder.imputes() {
			c.Elements = d.Strs()
			if !c.Encoder.function().Valid(c.Boundaries) {
				d.Fail()
			}
		}
		s.Cols = append(s.Cols, c)
	}
	s.Standardize, s.Classes, s.Narrow, s.KeepMissing, s.Silence = d.Bool(), d.Bool(), d.Bool(), d.Bool(), d.Bool()
	return s
}
