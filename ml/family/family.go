package family

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Family is an algorithm. It has no state, and its methods may be called from
// any goroutine.
type Family interface {
	// Info returns the family's names.
	Info() Info
	// Options returns its own options, besides Common. Shared ones, such as MaxIterations,
	// are the variables of this package.
	Options() []*Option
	// Plan checks a statement's options against the columns and returns what the training
	// needs. Its errors are for the user: 22023 or 0A000.
	Plan(r *Request) (*Plan, error)
	// NewDriver makes the driver of a training, before the first step.
	NewDriver(s *Setup, n *Node) (Driver, error)
	// NewWorker makes a node's worker.
	NewWorker(s *Setup, n *Node) (Worker, error)
	// DecodeStep and DecodePartial decode a step's body and a partial; nil bodies are not
	// encoded. They fail d on bytes that Encode does not write. A step's body may alias
	// d's input (canon.D.LentF64s), which stays valid until all passes of the step have
	// ended.
	DecodeStep(op uint8, d *canon.D) Message
	DecodePartial(op uint8, d *canon.D) Message
	// Merge adds right, which comes later in the order of leaves, to left. It takes
	// ownership of both. With ByNode scope the order must not matter.
	Merge(op uint8, left, right Message) (Message, error)
	// Decode decodes a Predictor of a model with these encoders.
	Decode(f *feature.Fitted, d *canon.D) (Predictor, error)
}

// Info has the names of a family.
type Info struct {
	Name     string   // after USING, and in ml.models
	Synonyms []string // those of BigQuery ML, scikit-learn and others
	// Names that also select the task, of a family that can do both.
	Classifiers, Regressors []string
	// Task is what it does; "" of a family that classifies and regresses.
	Task Task
	Doc  string // a sentence for the manual
	// Sparse and Regressed name it, with the options that it needs, in hints of families that cannot: where it takes
	// sparse features, and where it takes columns beside the times of a series.
	Sparse, Regressed string
	// Instead says by other systems' names of algorithms, which are no synonyms, what to write for them.
	Instead map[string]string
}

// Tasks lists what the family can do.
func (i *Info) Tasks() []Task {
	if i.Task != "" {
		return []Task{i.Task}
	}
	return []Task{Classification, Regression}
}

// Others returns all names except the first.
func (i *Info) Others() []string { return slices.Concat(i.Synonyms, i.Classifiers, i.Regressors) }

// Asks reports whether a name is one of the family's, and the task that it asks for,
// "" where the target decides. Case, hyphens and underscores do not matter:
// RandomForestClassifier is random_forest_classifier.
func (i *Info) Asks(name string) (Task, bool) {
	is := func(n string) bool { return plainName(n) == plainName(name) }
	switch {
	case is(i.Name), slices.ContainsFunc(i.Synonyms, is):
		return "", true
	case slices.ContainsFunc(i.Classifiers, is):
		return Classification, true
	case slices.ContainsFunc(i.Regressors, is):
		return Regression, true
	}
	return "", false
}

// joined removes the characters that join words.
var joined = strings.NewReplacer("_", "", "-", "")

func plainName(s string) string { return joined.Replace(strings.ToLower(s)) }

// Task is the task of a model, as named in ml.models.
type Task string

// The tasks.
const (
	Regression     Task = "regression"
	Classification Task = "classification"
	Clustering     Task = "clustering"
	Decomposition  Task = "decomposition"
	Sequence       Task = "sequence"
	Ranking        Task = "ranking"
	TimeToEvent    Task = "time-to-event"
	Forecasting    Task = "forecasting"
	Mixed          Task = "mixed" // classes and numbers, of several targets
	// Recommendation is of models that say what users think of items.
	Recommendation Task = "recommendation"
	// NeighborSearch is of models that find the training rows near a row.
	NeighborSearch Task = "neighbor-search"
	// AnomalyDetection is of models that say whether a row is an anomaly.
	AnomalyDetection Task = "anomaly-detection"
)

// Target is the kind of target that a family predicts.
type Target uint8

// The kinds of targets.
const (
	NoTarget     Target = iota // PREDICT is an error
	NumberTarget               // Block.Y is the number, or the duration
	ClassTarget                // Block.Y is the number of the class among Fitted.Keys
)

// Scope says which rows a partial covers.
type Scope uint8

// The scopes.
const (
	ByLeaf Scope = iota // merged in the order of leaves
	ByNode              // merged in any order: sums must be exact
)

// Request is a training statement, as passed to a family.
type Request struct {
	Options *Values
	Task    Task            // that the name of the algorithm asks for, or ""
	Target  *record.Column  // the column in PREDICT or the option; nil for none
	More    []record.Column // further targets, used by Several only
	Columns []record.Column // the features
}

// Plan is what a training needs. It depends on the statement alone and is the same on
// every node.
type Plan struct {
	Task   Task
	Target Target
	Scope  Scope
	// Distributed has rows distributed to leaves by their content where the scope is ByNode: sums are
	// in any order, but not what is in a mini-batch.
	Distributed bool
	// Standardize brings number columns to mean 0 and standard deviation 1
	// where neither TRANSFORM nor the option standardize says otherwise.
	Standardize bool
	// KeepMissing leaves NULLs of number columns in blocks as NaN, instead of
	// means and indicators.
	KeepMissing bool
	// Categories is how many categories of a column pay to be told apart, 0 for
	// feature.DefaultCategories.
	Categories int
	// Silence encodes columns that are the same in all rows as zeros and no category, at
	// prediction too, whatever they are there: a weight of theirs would be learnt from nothing.
	Silence bool
	// Recalls has metrics measured on rows that are held out, or none: a model that is its training rows
	// knows these, and takes long to find each of them.
	Recalls bool
	// Sparse has features that are sparse numbers, as the terms of texts (block.Sparse); without it they are refused.
	Sparse bool
	// Narrow keeps numbers as float32 even where that rounds them.
	Narrow bool
	// Grain divides the rows of a leaf in a step into parts of at least this many rows, a
	// multiple of Unit, that are processed separately and merged in order, as leaves are;
	// 0: not divided. See Cut.
	Grain int
	// Plain names feature columns that blocks store unscaled, such as offsets, and without
	// an indicator of NULLs, which become the mean.
	Plain []string
	// Time names the column of the times of a series. It is the only number of a block, unscaled, NaN for NULL: a date's
	// days, a timestamp's microseconds, or an integer. Other columns than it and the target are an error, but for
	// Regressors. "" for none.
	Time       string
	Regressors bool // columns beside the time are features as in other families
	// Pair names the columns of users and of items, the only features: all of their values are told apart, and NULL is
	// one of them. nil for none.
	Pair []string
	// Identity names a feature column whose values are all told apart, to name rows by them; "" for none.
	Identity string
	// Ranks says that a prediction is no estimate of the target, which is how items are ranked: ml.evaluate measures it.
	Ranks bool
	// Given is a relation whose rows the driver starts from; nil for none.
	Given *Given
	// MaxIterations is the maximum number of iterations, for progress; 0 where it is
	// unknown.
	MaxIterations int
	// Windows asks for windows of rows instead of rows; see Windows. nil for none.
	Windows *Windows
	// Parts are the plans of several targets, each as if it were the only one.
	Parts []*Plan
	// Outputs are the columns of a prediction, the value of predict() first. The first is
	// named after the target where it has no name, and its type is ignored where the
	// target is a class.
	Outputs []Output
}

// Output is a column of ml.predict.
type Output struct {
	Name string
	Type types.Type
}

// Given is a relation with the columns of the features, whose rows become
// Setup.Given.
type Given struct {
	Relation string
	Most     int // rows; more are an error
	Pos      int // of the option that names it
}

// maxParts bounds the partials of a leaf that are computed at once.
const maxParts = 32

// Unit returns how many rows, or windows, must stay together: a tile, or one.
func (p *Plan) Unit() int {
	if p.Windows != nil && !p.Windows.Whole {
		return 1
	}
	return f64.Lanes
}

// Cut divides the rows of a leaf's blocks into the parts that passes process: at most
// maxParts for each block, in whole Grains, so that all threads have work where there
// is only one leaf. The parts depend on nothing else.
func (p *Plan) Cut(rows []Rows) (out []Rows) {
	if p.Grain == 0 {
		return rows
	}
	for _, r := range rows {
		grains := (r.To - r.From + p.Grain - 1) / p.Grain
		n := min(grains, maxParts)
		for i := range n {
			part := r
			part.From, part.To = r.From+grains*i/n*p.Grain, min(r.From+grains*(i+1)/n*p.Grain, r.To)
			out = append(out, part)
		}
	}
	return out
}

// Setup describes a training once its rows have been encoded. It is the same on every
// node.
type Setup struct {
	Options *Values
	Plan    *Plan
	Fitted  *feature.Fitted
	Seed    uint64
	Rows    int64   // to train on; windows where Plan.Windows is set
	Held    int64   // held out, likewise
	Weight  float64 // of those to train on
	Counted int64   // rows of a weight above 0 among those to train on; known to drivers
	// Weights are the total weights by target, where several targets have class weights.
	Weights []float64
	// Start is the model that the training continues from (WarmStart), whose encoders are
	// Fitted; Given are the rows of Plan.Given, without Y and W. They are set for drivers
	// that begin, and nil for others.
	Start Predictor
	Given []*block.Block
}

// Batches divides an epoch into mini-batches of about so many rows, at least a tile.
func (s *Setup) Batches(rows int) optim.Epoch {
	n := int64(max(rows, s.Plan.Unit()))
	return optim.EpochOf(s.Rows, int(max(1, (s.Rows+n-1)/n)))
}

// Classes returns the number of classes of the target, 0 where it is a number.
func (s *Setup) Classes() int { return len(s.Fitted.Keys) }

// Message is a step's body, sent down, or a partial, sent up. On a single node it is
// never encoded.
type Message interface {
	Encode(e *canon.E)
}

// Regress plans a regression.
func Regress(r *Request, p Plan) (*Plan, error) {
	if r.Target == nil {
		return nil, errNoTarget()
	}
	p.Task, p.Target = Regression, NumberTarget
	p.Outputs = []Output{{Type: types.Float8}}
	return &p, nil
}

// ByTarget plans what the algorithm's name asks for, or a regression where the
// target is a float or numeric column and else a classification, as the families do
// that can do both.
func ByTarget(r *Request, p Plan) (*Plan, error) {
	if r.Target == nil {
		return nil, errNoTarget()
	}
	switch r.Task {
	case Regression:
		return Regress(r, p)
	case Classification:
		return Classify(r, p)
	}
	if t := r.Target.Type; t.IsNumber() && !t.IsInteger() {
		return Regress(r, p)
	}
	return Classify(r, p)
}

// Classify plans a classification.
func Classify(r *Request, p Plan) (*Plan, error) {
	if r.Target == nil {
		return nil, errNoTarget()
	}
	p.Task, p.Target = Classification, ClassTarget
	p.Outputs = []Output{{}}
	return &p, nil
}

func errNoTarget() error {
	return pgerr.New(pgerr.InvalidParameterValue, "the statement names no target column").
		WithHint("Add PREDICT column, or name a column of the query label.")
}
