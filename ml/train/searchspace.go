package train

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/search"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Search is what a statement searches: the options that differ between trials, and how
// they are chosen.
type Search struct {
	config search.Config
	args   []family.Arg   // of the statement; those of dims are *family.Dimension
	dims   []int          // args, by dimension
	aim    *aim           // nil: decided by the first trial
	keep   bool           // the models of all trials
	shared bool           // one trial is chosen for all groups of rows: see SharedSearch
	only   []search.Trial // to be measured on a group, of a shared search; else nil
	make   func(args []family.Arg) (*Job, error)
	of     searched // what it is made of
}

// searched is a statement that searches, as it is sent to those who search for groups of rows.
type searched struct {
	Algorithm  string
	Predict    []string
	Args       []searchedArg
	Transforms []feature.Transform
	Columns    []record.Column
}

// searchedArg is an option's value, or what a trial has one of.
type searchedArg struct {
	Name  string
	Value types.Datum
	Dim   *family.Dimension
}

// EncodeWhole is Encode with the search, of a job that has one.
func (j *Job) EncodeWhole() []byte {
	var e canon.E
	e.Bytes(j.Encode())
	if j.search != nil {
		e.Bytes(codec.Marshal(j.search.of))
		if j.search.only != nil {
			encodeBatch(&e, j.search.only)
		}
	}
	return e.B
}

// DecodeWhole reads what EncodeWhole wrote.
func DecodeWhole(b []byte) (*Job, error) {
	d := canon.Read(b)
	job, search := d.Bytes(), []byte(nil)
	if d.Left() > 0 {
		search = d.Bytes()
	}
	only := decodeBatch(d)
	if err := d.Done("a training job"); err != nil || search == nil {
		if err != nil {
			return nil, err
		}
		return DecodeJob(job)
	}
	of, err := codec.Unmarshal[searched](search)
	if err != nil {
		return nil, err
	}
	args := make([]family.Arg, len(of.Args))
	for i, a := range of.Args {
		args[i] = family.Arg{Name: a.Name, Value: a.Value}
		if a.Dim != nil {
			args[i].Value = a.Dim
		}
	}
	j, err := newSearch(of.Algorithm, of.Predict, args, of.Transforms, of.Columns)
	if err == nil {
		j.search.only = only
	}
	return j, err
}

// algorithm returns what decides on the trials.
func (s *Search) algorithm() search.Search {
	if s.only != nil {
		return search.These(s.only)
	}
	return search.New(s.config)
}

// NamedText is a name with a text value.
type NamedText struct{ Name, Value string }

// isSearched reports whether an option is one to search.
func isSearched(a family.Arg) bool {
	_, ok := a.Value.(*family.Dimension)
	return ok
}

// newSearch makes the job of a statement that searches: the first trial's that can be
// made, which all nodes begin with.
func newSearch(algorithm string, predict []string, args []family.Arg, transforms []feature.Transform, cols []record.Column) (*Job, error) {
	s := &Search{args: args, of: searched{algorithm, predict, nil, transforms, cols}, make: func(args []family.Arg) (*Job, error) { return newJob(algorithm, predict, args, transforms, cols) }}
	f, _, err := FindFamily(algorithm, slices.DeleteFunc(slices.Clone(args), isSearched))
	if err != nil {
		return nil, err
	}
	like := &Job{Family: f}
	if err := like.ofOthers(args); err != nil {
		return nil, err
	}
	for i, a := range args {
		d, ok := a.Value.(*family.Dimension)
		if !ok {
			s.of.Args = append(s.of.Args, searchedArg{Name: a.Name, Value: a.Value})
			continue
		}
		s.of.Args = append(s.of.Args, searchedArg{Name: a.Name, Dim: d})
		o := family.Find(like.options(), a.Name)
		if o == nil || !o.Searched() {
			_, err := family.Read(args[i:i+1], like.options()) // says so
			return nil, err
		}
		dim := search.Dim{Candidates: len(d.Candidates), Log: d.Log}
		for _, v := range d.Candidates {
			if _, err := family.Read([]family.Arg{{Name: a.Name, Value: v, Pos: a.Pos}}, like.options()); err != nil {
				return nil, err
			}
		}
		if dim.Candidates == 0 {
			if dim.Lo, dim.Hi, dim.Integer, err = o.Ends(a, d); err != nil {
				return nil, err
			}
		}
		s.config.Space, s.dims = append(s.config.Space, dim), append(s.dims, i)
	}
	o, err := family.Read(slices.DeleteFunc(slices.Clone(args), isSearched), like.options())
	if err != nil {
		return nil, err
	}
	for _, name := range []string{family.Calibration, family.CostMatrix, family.PredictionInterval} {
		if o.Given(name) {
			return nil, pgerr.Unsupported("option %q of a search is not supported", name).At(o.Pos(name)).WithHint("Search without it, and train with the best trial's options and with it.")
		}
	}
	return s.begin(o)
}

// begin reads how the search goes, of the options that are the same in all trials, and
// makes its first job.
func (s *Search) begin(o *family.Values) (*Job, error) {
	bad := func(option, format string, args ...any) *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...).At(o.Pos(option))
	}
	c := &s.config
	*c = search.Config{Space: c.Space, Algorithm: o.Text("hparam_tuning_algorithm", search.Random), Trials: o.Int("num_trials", min(10*len(s.dims), 100)),
		Parallel: o.Int("max_parallel_trials", 1), Seed: uint64(o.Float("seed", 0)), Iterations: 1}
	s.keep, s.shared = o.Bool("keep_trials", false), o.Text(TuningScope, "group") == "all"
	switch {
	case o.Bool(family.WarmStart.Names[0], false):
		return nil, bad("warm_start", "a search does not go on from a model")
	case c.Algorithm == search.Grid:
		if err := s.gridFits(o, bad); err != nil {
			return nil, err
		}
	}
	if n := math.Min(float64(c.Trials), c.Space.Size()); s.keep && n > family.MaxKept {
		return nil, bad("keep_trials", "at most %d trials are kept, and the search has %v", family.MaxKept, n).WithHint("Lower num_trials.")
	}
	job, err := s.first()
	if err != nil {
		return nil, err
	}
	if c.Algorithm == search.Halving {
		if c.Iterations = job.MaxIterations(); c.Iterations < 2 {
			return nil, bad("hparam_tuning_algorithm", "halving needs iterations to divide, and a training of %s has none", job.Family.Info().Name)
		}
	}
	if s.aim, err = aimOf(job, o.Text("hparam_tuning_objective", "")); err != nil {
		return nil, err
	}
	if s.shared && s.aim == nil && measuredTarget(job.planOf(0)) == family.ClassTarget { // groups may have two classes, and more
		s.aim = defaultAim(job, 0, nil, false)
	}
	job.search = s
	return job, nil
}

// gridFits sets how many points a grid has.
func (s *Search) gridFits(o *family.Values, bad func(option, format string, args ...any) *pgerr.Error) error {
	c, ranges := &s.config, slices.ContainsFunc(s.config.Space, func(d search.Dim) bool { return d.Candidates == 0 })
	at := "num_trials"
	if !o.Given(at) {
		at = "hparam_tuning_algorithm"
	}
	if ranges {
		if c.Space.Steps(c.Trials) == 0 {
			return bad(at, "a grid of %d trials has no room for two values of each range", c.Trials).WithHint("Raise num_trials, or list the values of ranges: hparam_candidates([…]).")
		}
		return nil
	}
	size := c.Space.Size()
	if !o.Given("num_trials") {
		c.Trials = int(math.Min(size, family.MaxTrials))
	}
	if size > float64(c.Trials) {
		return bad(at, "the grid has %v points, and %d trials are allowed", strconv.FormatFloat(size, 'g', -1, 64), c.Trials).WithHint("Raise num_trials, or try some of the points: hparam_tuning_algorithm = 'random'.")
	}
	return nil
}

// first returns the job of the first trial that can be made.
func (s *Search) first() (*Job, error) {
	var first error
	for _, t := range search.New(s.config).Next() {
		j, err := s.job(t.Point)
		if err == nil {
			return j, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// value returns an option's value at a point.
func (s *Search) value(dim int, p search.Point) types.Datum {
	d := s.args[s.dims[dim]].Value.(*family.Dimension)
	switch {
	case d.Candidates != nil:
		return d.Candidates[int(p[dim])]
	case s.config.Space[dim].Integer:
		return int64(p[dim])
	}
	return p[dim]
}

// heldByDefault is the share of rows that a search of models with a target holds out
// where the statement does not say what trials are measured on.
const heldByDefault = 0.2

// job makes the job of a trial.
func (s *Search) job(p search.Point) (*Job, error) {
	args := slices.Clone(s.args)
	for k, i := range s.dims {
		args[i].Value = s.value(k, p)
	}
	j, err := s.make(args)
	if err != nil || j.Plan.Target == family.NoTarget || j.Folds() > 0 {
		return j, err
	}
	for _, name := range []string{"data_split_method", "data_split_eval_fraction", "data_split_col"} {
		if j.Options.Given(name) {
			return j, nil
		}
	}
	return s.make(append(args, family.Arg{Name: "data_split_eval_fraction", Value: heldByDefault}))
}

// texts returns the options of a trial that others have other values of.
func (s *Search) texts(p search.Point) (out []NamedText) {
	for k, i := range s.dims {
		out = append(out, NamedText{strings.ToLower(s.args[i].Name), datumText(s.value(k, p))})
	}
	return out
}

// datumText writes an option's value as a statement might.
func datumText(d types.Datum) string {
	switch x := d.(type) {
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case number.Decimal:
		return x.String()
	case types.Array:
		var list []string
		for _, e := range x.Elems {
			list = append(list, datumText(e))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return fmt.Sprint(d)
}

// Outlook is what a search will do, for EXPLAIN.
type Outlook struct {
	Algorithm, Objective string
	Trials               int
	Encodings            int  // how often rows are encoded
	Readings             int  // of the query, where workers can hold its rows
	Iterations           int  // at most, 0 where unknown
	Parallel, Beside     int  // how many trials may run side by side, and do at most
	Shared               bool // one trial is chosen for all groups; Encodings and Iterations are a group's
}

// iterations is a share of a training's iterations, in whole ones.
func iterations(all int, share float64) int {
	return int(math.Ceil(float64(all)*share - 1e-9))
}

// Outlook returns what the job's search will do; nil of a job that does not search.
func (j *Job) Outlook() *Outlook {
	s := j.search
	if s == nil {
		return nil
	}
	out := &Outlook{Algorithm: s.config.Algorithm, Parallel: s.config.Parallel, Objective: "by the target"}
	if measuredTarget(j.Plan) == family.NoTarget {
		out.Objective = "by what the family measures"
	}
	if s.aim != nil {
		out.Objective = s.aim.name
	} else if measuredTarget(j.Plan) == family.NumberTarget {
		out.Objective = defaultAim(j, 0, nil, false).name
	}
	last := map[string]int{} // the batch that wanted an encoding last
	longest := map[string]int{}
	known, folds, batches := true, max(j.Folds(), 1), 0
	alg := s.algorithm()
	out.Shared = s.shared && s.only == nil
	for batch := alg.Next(); len(batch) > 0; batch = alg.Next() {
		if batches++; out.Shared { // each batch begins with the rows
			clear(last)
			clear(longest)
		}
		units := map[string]int{} // by encoding
		paths := map[string]bool{}
		for _, t := range batch { // of TPE any later trial is like these
			if t.Rung == 0 {
				out.Trials++
			}
			k, err := s.job(t.Point)
			if err != nil {
				continue
			}
			key := string(k.Encoding())
			switch {
			case last[key] == 0:
				out.Encodings += folds
				out.Readings++
			case last[key] < batches:
				out.Encodings += folds - 1 // the last fold's blocks are there
			}
			last[key] = batches
			if x := stepOf(k, t); x.path == "" || !paths[key+x.path] {
				paths[key+x.path] = true
				units[key]++
				out.Beside = max(out.Beside, min(units[key], s.config.Parallel))
			}
			n := k.MaxIterations()
			known = known && n > 0
			begun := iterations(n, t.Begun())
			if out.Shared {
				begun = 0
			}
			if of := prefixOf(k, t); of != "" { // those before are on its way
				begun = min(n, longest[of])
				longest[of] = max(n, begun)
			}
			out.Iterations += folds * (iterations(n, t.Share) - begun)
		}
		alg.Tell(make([]float64, len(batch)))
	}
	whole := 0 // trainings of the best trial's settings after the search
	switch {
	case out.Shared:
		whole, out.Readings = max(j.Folds()+1, 1), batches+1
	case j.Folds() > 0:
		whole = 1
	}
	out.Encodings += whole
	out.Iterations += whole * j.MaxIterations()
	if !known {
		out.Iterations = 0
	}
	return out
}
