package interchange

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/imported"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// File is a model as it is written to, or was read from, a file.
type File struct {
	Name      string
	Model     *model.Model
	Canonical []byte // the model's canonical bytes
	// Version is what the catalog says of the model. Of a file that was read it is nil where the format
	// keeps nothing of that.
	Version *catalog.ModelVersion
}

// Statement is what trained the model, for those who read the file; "" of a model that came in, whose statement
// has the file that it came from.
func (f *File) Statement() string {
	if f.Version == nil || f.Model.Algorithm == imported.Name {
		return ""
	}
	return f.Version.Statement
}

// Format is a format of model files.
type Format struct {
	Name string
	Doc  string // for the manual
	// Is reports whether bytes look like the format; it may look at their beginning alone.
	Is func(b []byte) bool
	// Write returns the bytes; 0A000 for a model that the format cannot hold. nil: it is only read.
	Write func(f *File) ([]byte, error)
	// Read reads bytes from anywhere. nil: the format is only written.
	Read func(b []byte, o *Options) (*File, error)
}

// MostBytes bounds a file that is read.
const MostBytes = 1 << 30

// Options are the options of IMPORT that formats read.
type Options struct {
	Target   string   // the name of what is predicted, for a file that does not say
	Features []string // names of the features, likewise, or instead of those that the file has
	Classes  []string // of a classifier whose file has numbers only
}

// Name returns the name of feature i, or def.
func (o *Options) Name(i int, def string) string {
	if i < len(o.Features) {
		return o.Features[i]
	}
	return def
}

// CheckFeatures returns an error where the names given are not as many as the features.
func (o *Options) CheckFeatures(n int) error {
	if o.Features != nil && len(o.Features) != n {
		return pgerr.New(pgerr.InvalidParameterValue, "the model has %d features, but the option \"features\" has %d names", n, len(o.Features))
	}
	for i, f := range o.Features {
		if slices.Contains(o.Features[:i], f) {
			return pgerr.New(pgerr.DuplicateColumn, "feature %q is named twice", f)
		}
	}
	return nil
}

// Damaged is the error for bytes that are not of a format: they are the user's, not ours.
func Damaged(format, why string, args ...any) error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid %s file: %s", format, fmt.Sprintf(why, args...))
}

// Missing is the one error for all that a file asks for and this program lacks.
func Missing(format string, what []string) error {
	slices.Sort(what)
	return pgerr.Unsupported("%s is not supported in %s files", strings.Join(slices.Compact(what), ", "), format)
}

// ShapeOf returns what the model's predictor computes; 0A000 where no format but our own can say it.
func ShapeOf(m *model.Model) (shape.Shape, error) {
	if m.Windows != nil {
		return nil, pgerr.Unsupported("a model of sequences does not predict row by row").WithHint("The format json takes every model.")
	}
	if m.Adjustment != nil {
		return nil, pgerr.Unsupported("a model with calibration, costs or intervals can be written in the format json only").WithHint("Train it without these options to write it in another.")
	}
	d, ok := m.Predictor.(family.Described)
	if !ok {
		return nil, pgerr.Unsupported("models of %s can be written in the format json only", m.Algorithm)
	}
	s, err := d.Shape()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Foreign is the file of a model of a foreign format: encoders, with the target and its classes, and a shape.
func Foreign(f *feature.Fitted, s shape.Shape) (*File, error) {
	m := &model.Model{Algorithm: imported.Name, Task: family.Regression, Outputs: []family.Output{{Type: types.Float8}}, Fitted: f}
	if f.Keys != nil {
		m.Task = family.Classification
	}
	p, err := imported.New(f, s)
	if err != nil {
		return nil, err
	}
	m.Predictor = p
	return &File{Model: m}, nil
}

// Describe is what the catalog says of a model, as far as the model says it.
func Describe(m *model.Model) *catalog.ModelVersion {
	v := &catalog.ModelVersion{Algorithm: m.Algorithm, Task: string(m.Task), Classes: m.Classes(), TrainLoss: math.NaN()}
	if l := m.Fitted.Label; l.Name != "" {
		v.Target, v.TargetType = []string{l.Name}, l.Type
	}
	if m.Targets != nil {
		v.Target, v.Classes = m.Targets, m.Part(0).Classes()
	}
	for _, o := range m.Columns() {
		v.Outputs = append(v.Outputs, catalog.ModelFeature{Name: o.Name, Type: o.Type})
	}
	features := func(cols []record.Column) (out []catalog.ModelFeature) {
		for _, c := range cols {
			out = append(out, catalog.ModelFeature{Name: c.Name, Type: c.Type})
		}
		return out
	}
	for i := range m.Fitted.Cols {
		v.Features = append(v.Features, features([]record.Column{m.Fitted.Cols[i].Column})...)
	}
	if w := m.Windows; w != nil {
		v.Windows = &catalog.ModelWindows{PartitionBy: features(w.PartitionBy), OrderBy: features(w.OrderBy), Length: w.Length, Stride: w.Stride}
	}
	for i := range v.Target[min(1, len(v.Target)):] {
		part := m.Part(i + 1)
		v.More = append(v.More, catalog.ModelTarget{Type: part.Fitted.Label.Type, Classes: part.Classes()})
	}
	return v
}
