package train

import (
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Job is what is trained: the same on every node. It is immutable once made.
type Job struct {
	Options *Options
	Columns []dataset.Column // of the training query
	// spec is without the holdout, which waits for the number of rows.
	spec feature.Spec
}

// NewJob checks a statement's parts against the query's columns. algorithm is
// the name after USING, or "" where it is among the options; predict is what
// PREDICT names, or nil.
func NewJob(algorithm string, predict []string, args []Arg, transforms []feature.Transform, cols []dataset.Column) (*Job, error) {
	o, err := Parse(args)
	if err != nil {
		return nil, err
	}
	kind := o.Algorithm
	if algorithm != "" {
		if kind, err = Algorithm(algorithm); err != nil {
			return nil, err
		}
	}
	if kind == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the statement names no algorithm").
			WithHint("Add USING logistic_regression, or the option model_type.")
	}
	if err := o.ForAlgorithm(kind); err != nil {
		return nil, err
	}
	switch {
	case len(predict) > 1:
		return nil, pgerr.Unsupported("models with more than one target column are not supported")
	case len(predict) == 1 && o.Label != "" && o.Label != predict[0]:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the statement names two target columns: %q and %q", predict[0], o.Label)
	case len(predict) == 1:
		o.Label = predict[0]
	case o.Label == "":
		o.Label = "label" // as BigQuery ML has it
		if find(cols, "label") < 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "the statement names no target column").
				WithHint("Add PREDICT column, or name a column of the query label.")
		}
	}
	j := &Job{Options: o, Columns: cols}
	return j, j.makeSpec(transforms)
}

func find(cols []dataset.Column, name string) int {
	for i, c := range cols {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}

func (j *Job) makeSpec(transforms []feature.Transform) error {
	o := j.Options
	j.spec = feature.Spec{Standardize: o.Standardize, Classes: o.Algorithm == model.LogisticRegression}
	for i, c := range j.Columns {
		for _, b := range j.Columns[:i] {
			if b.Name == c.Name {
				return pgerr.New(pgerr.DuplicateColumn, "column name %q occurs more than once in the training query", c.Name).OnColumn(c.Name).
					WithHint("Give the columns different names with AS.")
			}
		}
		j.spec.Cols = append(j.spec.Cols, feature.Col{Column: c, Role: feature.Feature})
	}
	role := func(name string, r feature.Role) error {
		if name == "" {
			return nil
		}
		i := find(j.Columns, name)
		if i < 0 {
			return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query", name)
		}
		if j.spec.Cols[i].Role != feature.Feature {
			return pgerr.New(pgerr.InvalidParameterValue, "column %q cannot be both target and weight", name)
		}
		j.spec.Cols[i].Role = r
		return nil
	}
	if err := role(o.Label, feature.Label); err != nil {
		return err
	}
	if err := role(o.WeightColumn, feature.Weight); err != nil {
		return err
	}
	for i := range transforms {
		if err := transforms[i].Apply(&j.spec); err != nil {
			return err
		}
	}
	if err := j.spec.Resolve(); err != nil {
		return err
	}
	switch o.Precision {
	case Float32:
		j.spec.Narrow = true
	case AutoPrecision:
		j.spec.Narrow = j.spec.AutoNarrow()
	}
	_, err := dataset.NewLayout(j.Columns)
	return err
}

// Encode gives the bytes from which another node makes the same job.
func (j *Job) Encode() []byte {
	var e canon.E
	j.Options.Encode(&e)
	j.spec.Encode(&e)
	return e.B
}

// DecodeJob reads what Encode wrote.
func DecodeJob(b []byte) (*Job, error) {
	d := canon.Read(b)
	j := &Job{Options: decodeOptions(d), spec: *feature.DecodeSpec(d)}
	if err := d.Done("a training job"); err != nil {
		return nil, err
	}
	j.Columns = j.spec.Columns()
	return j, nil
}

// Spec is what is learnt from, of so many rows.
func (j *Job) Spec(rows int64) *feature.Spec {
	s := j.spec
	s.Holdout = j.Options.holdout(rows)
	return &s
}

// Algorithm is what is trained.
func (j *Job) Algorithm() model.Kind { return j.Options.Algorithm }

// Target is the label column.
func (j *Job) Target() dataset.Column { return j.Columns[j.spec.LabelCol()] }

// Features are the columns that the model will need.
func (j *Job) Features() []dataset.Column {
	var out []dataset.Column
	for _, c := range j.spec.Cols {
		if c.Role == feature.Feature {
			out = append(out, c.Column)
		}
	}
	return out
}

// MaxIterations is the most iterations that the training takes.
func (j *Job) MaxIterations() int {
	switch o := j.Options; {
	case o.MaxIterations > 0:
		return o.MaxIterations
	case o.Optimizer.stochastic():
		return 20
	}
	return 100
}
