package interchange

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Columns are the features of a file's model as they are read: numbers, which stay as they are, and
// categories with a code each.
type Columns struct {
	cols []feature.FitCol
	at   []int32 // what Place returns
	took int     // of mostRoom
}

// mostRoom bounds, in words of 8 bytes, what a file makes larger than it is: categories that it only
// counts, and sets of them; Room is what is charged for it.
const (
	mostRoom = 1 << 21
	Room     = 8 * mostRoom
)

// Take counts words that a reader is about to make; an error where they are more than it may.
func (c *Columns) Take(words int) error {
	if words < 0 || words > mostRoom-c.took {
		return pgerr.New(pgerr.ProgramLimitExceeded, "the model has too many categories, or splits by them")
	}
	c.took += words
	return nil
}

// Number adds a feature that is a number; NULL is NaN.
func (c *Columns) Number(name string) {
	c.cols = append(c.cols, feature.FitCol{Column: record.Column{Name: name, Type: types.Float8}, Encoder: feature.Plain, Fill: math.NaN()})
}

// Texts adds a feature of categories; NULL has the slot after theirs.
func (c *Columns) Texts(name string, categories []string) { c.category(name, types.Text, categories) }

// Integers adds one whose categories are numbers.
func (c *Columns) Integers(name string, categories []int64) {
	keys := make([]string, len(categories))
	for i, k := range categories {
		keys[i] = feature.IntegerKey(k)
	}
	c.category(name, types.Int8, keys)
}

func (c *Columns) category(name string, t types.Type, keys []string) {
	c.cols = append(c.cols, feature.FitCol{Column: record.Column{Name: name, Type: t}, Encoder: feature.OneHot, Cats: keys, NullSlot: true})
}

// Counted adds a feature whose categories are the numbers from 0 on.
func (c *Columns) Counted(name string, n int) error {
	if err := c.Take(5 * n); err != nil {
		return err
	}
	c.Integers(name, count(n))
	return nil
}

func count(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// Place returns where feature i is among a shape's numbers and codes, and how many categories it has, 0 for
// a number. No more features may be added then.
func (c *Columns) Place(i int) (at int32, categories int) {
	if c.at == nil {
		var dense, code int32
		for k := range c.cols {
			if !c.Category(k) {
				dense++
			}
		}
		c.at = make([]int32, len(c.cols))
		next := int32(0)
		for k := range c.cols {
			if c.Category(k) {
				c.at[k] = dense + code
				code++
			} else {
				c.at[k] = next
				next++
			}
		}
	}
	return c.at[i], len(c.cols[i].Cats)
}

// Fitted returns the encoders of a model with so many classes, 0 for a number.
func (c *Columns) Fitted(o *Options, classes int, narrow bool) (*feature.Fitted, error) {
	label := record.Column{Name: "y", Type: types.Float8}
	if o.Target != "" {
		label.Name = o.Target
	}
	var keys []string
	switch {
	case classes == 0 && o.Classes != nil:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the model predicts a number: it has no classes")
	case classes > 0 && o.Classes != nil && len(o.Classes) != classes:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the model has %d classes, but the option \"classes\" has %d names", classes, len(o.Classes))
	case classes > 0 && o.Classes != nil:
		keys, label.Type = o.Classes, types.Text
	case classes > 0:
		label.Type = types.Int8
		for _, k := range count(classes) {
			keys = append(keys, feature.IntegerKey(k))
		}
	}
	return feature.NewFitted(c.cols, label, keys, narrow), nil
}

// Has reports whether there is a feature i, and Category whether it is one of categories.
func (c *Columns) Has(i int) bool { return i >= 0 && i < len(c.cols) }

// Category: see Has.
func (c *Columns) Category(i int) bool { return c.cols[i].Encoder == feature.OneHot }

// Raw is a feature of a model that is written, as it is before the encoders: a number that trees compare as
// it is, or categories.
type Raw struct {
	Name       string
	Categories []string // their texts; nil for a number
	Integers   bool     // they are numbers
	NullSlot   int      // the slot of NULL, -1 for none
	At         int32    // in the shape
}

// RawColumns are the features of a model whose shape sees its columns as they are; 0A000 where an encoder
// changes one.
func RawColumns(f *feature.Fitted, format string) (out []Raw, err error) {
	var dense, code int32
	for i := range f.Cols {
		c := &f.Cols[i]
		r := Raw{Name: c.Name, NullSlot: -1}
		plain := len(c.Center) == 0 && !c.Indicator
		switch {
		case c.Encoder == feature.Plain && plain && math.IsNaN(c.Fill):
			r.At = dense
			dense++
		case c.Encoder == feature.OneHot && c.Dim == 0 && plain:
			r.At = int32(f.Dense) + code
			r.Categories = make([]string, len(c.Cats))
			for k, key := range c.Cats {
				r.Categories[k] = feature.KeyText(c.Type, key)
			}
			r.Integers = c.Type.IsInteger()
			if c.NullSlot {
				r.NullSlot = len(c.Cats)
			}
			code++
		default:
			return nil, pgerr.Unsupported("feature %q is encoded (%v), which %s files cannot say", c.Name, c.Encoder, format).WithHint("The format onnx has encoders.")
		}
		out = append(out, r)
	}
	return out, nil
}

// TreesOf returns the trees of a model.
func TreesOf(f *File, format string) (*shape.Trees, error) {
	s, err := ShapeOf(f.Model)
	if err != nil {
		return nil, err
	}
	t, ok := s.(*shape.Trees)
	if !ok {
		return nil, pgerr.Unsupported("%s files are of trees: a model of %s cannot be written in one", format, f.Model.Algorithm)
	}
	return t, nil
}

// NullGoesLeft reports whether NULL goes left at a node that divides categories.
func (r *Raw) NullGoesLeft(n *shape.Node) bool { return n.CodeGoesLeft(r.NullSlot) }

// Ints returns texts as integers.
func Ints(texts []string) (out []int64, ok bool) {
	for _, t := range texts {
		v, err := strconv.ParseInt(t, 10, 64)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// SetClasses makes a model's classes texts, or whole numbers.
func SetClasses(f *feature.Fitted, texts []string, numbers []float64) error {
	f.Keys = texts
	if f.Label.Type = types.Text; texts != nil {
		return nil
	}
	f.Label.Type = types.Int8
	for _, v := range numbers {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return Missing("such", []string{"a class that is no whole number"})
		}
		f.Keys = append(f.Keys, feature.IntegerKey(int64(v)))
	}
	return nil
}
