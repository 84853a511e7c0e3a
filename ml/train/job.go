package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// checkClassWeights returns an error for options that exclude class weights.
func checkClassWeights(j *Job) error {
	if !j.Options.HasClassWeights() {
		return nil
	}
	bad := func(format string, args ...any) *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...).At(max(j.Options.Pos("class_weights"), j.Options.Pos(family.PositiveWeight)))
	}
	targets := j.Targets()
	if j.Options.Given(family.PositiveWeight) {
		switch {
		case j.Options.Given("class_weights"):
			return bad("only one of the options class_weights and %s can be given", family.PositiveWeight)
		case len(targets) > 1:
			return bad("option %q is of one target", family.PositiveWeight).WithHint("Use class_weights.")
		}
	}
	classes := func(target int) bool { return j.planOf(target).Target == family.ClassTarget }
	some := false
	for k := range targets {
		some = some || classes(k)
	}
	if !some {
		return bad("class weights need a classifier")
	}
	for _, w := range j.Options.ClassWeights() {
		k := slices.IndexFunc(targets, func(name string) bool { return strings.EqualFold(name, w.Target) })
		switch {
		case w.Target == "" && len(targets) > 1:
			return bad("class weights of several targets are named by target").
				WithHint(`Write class_weights = '{"%s": {"class": weight}}', or balanced for all of them.`, targets[0])
		case w.Target != "" && k < 0:
			return bad("class_weights names %q, which is no target", w.Target).WithDetail("The targets are %s.", strings.Join(targets, ", "))
		case w.Target != "" && !classes(k):
			return bad("class_weights names %q, which is a number: class weights need classes", w.Target)
		}
	}
	return nil
}

// mayFold returns an error for options that exclude cross-validation.
func mayFold(j *Job) error {
	if j.Folds() == 0 {
		return nil
	}
	at := j.Options.Pos("cross_validation")
	if !j.Options.Given("cross_validation") {
		at = adjustedAt(j)
	}
	bad := func(format string, args ...any) *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, format, args...).At(at)
	}
	for _, name := range []string{"data_split_method", "data_split_eval_fraction", "data_split_col"} {
		if j.Options.Given(name) {
			return bad("cross_validation and %s both say what is held out", name)
		}
	}
	o := j.Options
	switch {
	case j.Plan.Target == family.NoTarget:
		return bad("algorithm %s has no target column: there is nothing to validate", j.Family.Info().Name)
	case j.windows != nil:
		return pgerr.Unsupported("cross_validation of %s is not supported", j.together()).At(at).WithHint("%s", j.holdsOut())
	case j.WarmStart():
		return bad("a training that goes on from a model cannot be cross-validated: the model has seen the rows of all folds")
	case o.Bool("early_stop", o.Given("min_rel_progress") || o.Given("patience")) || o.Given("early_stopping_rounds"):
		return bad("a training that the rows held out may end early cannot be cross-validated: they are what it is measured by")
	}
	return nil
}

// together names, for errors, what rows are kept together for.
func (j *Job) together() string {
	if j.windows.Whole {
		return "queries"
	}
	return "windows"
}

// holdsOut says what is held out of them.
func (j *Job) holdsOut() string {
	if j.windows.Whole {
		return "data_split_eval_fraction holds out whole queries."
	}
	return "data_split_eval_fraction holds out the last windows of each partition."
}

// Job is the specification of a training, the same on every node. It is immutable once
// made.
type Job struct {
	Family  family.Family
	Plan    *family.Plan
	Options *family.Values
	Columns []record.Column // of the training query
	args    []family.Arg
	task    family.Task // that the algorithm's name asks for, or ""
	targets []string    // all of them where there are several, else nil
	spec    feature.Spec
	windows *record.Windows // of a family that learns from windows
	search  *Search         // of a statement that searches, where it is driven
}

// NewJob checks a statement's parts against the query's columns. algorithm is
// the name after USING, or "" where it is among the options; predict is what
// PREDICT names, or nil.
func NewJob(algorithm string, predict []string, args []family.Arg, transforms []feature.Transform, cols []record.Column) (*Job, error) {
	if slices.ContainsFunc(args, isSearched) {
		return newSearch(algorithm, predict, args, transforms, cols)
	}
	j, err := newJob(algorithm, predict, args, transforms, cols)
	if err != nil {
		return nil, err
	}
	return j, searchesNot(j)
}

// searchesNot returns an error for options of a search, of which there is none.
func searchesNot(j *Job) error {
	for _, name := range []string{"num_trials", "hparam_tuning_algorithm", "hparam_tuning_objective", "max_parallel_trials", "keep_trials", TuningScope} {
		if j.Options.Given(name) {
			return pgerr.New(pgerr.InvalidParameterValue, "option %q is for a search, and the statement searches nothing", name).At(j.Options.Pos(name)).
				WithHint("Give an option hparam_range(from, to) or hparam_candidates([…]).")
		}
	}
	return nil
}

// newJob is NewJob of a statement that does not search, or of one trial.
func newJob(algorithm string, predict []string, args []family.Arg, transforms []feature.Transform, cols []record.Column) (*Job, error) {
	f, task, err := FindFamily(algorithm, args)
	if err != nil {
		return nil, err
	}
	j := &Job{Family: f, Columns: cols, args: args, task: task}
	if err := j.ofOthers(args); err != nil {
		return nil, err
	}
	if j.Options, err = family.Read(args, j.options()); err != nil {
		return nil, err
	}
	labels, named, err := j.labels(predict)
	if err != nil {
		return nil, err
	}
	split, err := ReadSplit(args, cols)
	if err != nil {
		return nil, err
	}
	if err := j.makeSpec(labels, split); err != nil {
		return nil, err
	}
	if err := j.makePlan(); err != nil {
		return nil, err
	}
	at := j.spec.LabelCol()
	switch {
	case j.Plan.Target == family.NoTarget && at >= 0 && named:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "algorithm %s has no target column", f.Info().Name).WithHint("Leave PREDICT out.")
	case j.Plan.Target == family.NoTarget && at >= 0:
		j.spec.Cols[at].Role = feature.Feature // a column that is named label but is not the label
		if err := j.makePlan(); err != nil {
			return nil, err
		}
	case j.Options.HasClassWeights() && j.windows != nil:
		return nil, pgerr.Unsupported("class weights of windows are not supported").At(max(j.Options.Pos("class_weights"), j.Options.Pos(family.PositiveWeight)))
	case split != nil && j.windows != nil:
		return nil, pgerr.Unsupported("a column cannot say which %s are held out", j.together()).At(j.Options.Pos("data_split_col")).WithHint("%s", j.holdsOut())
	}
	if err := checkClassWeights(j); err != nil {
		return nil, err
	}
	if err := mayAdjust(j); err != nil {
		return nil, err
	}
	if err := mayFold(j); err != nil {
		return nil, err
	}
	const patience = "early_stopping_rounds" // an option of trees, which stop early only by the loss of held-out rows
	if at := j.Options.Pos(patience); j.Options.Given(patience) && j.split() == "no_split" {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q needs rows that are held out", patience).At(at).WithHint("Add data_split_eval_fraction, such as 0.2.")
	}
	return j, j.encoders(transforms)
}

// options returns all options that the job's statement may have.
func (j *Job) options() []*family.Option {
	return append(append([]*family.Option{}, family.Common...), j.Family.Options()...)
}

// Finalized refuses an algorithm or option that the version before does not have: until the cluster is
// finalised, nodes that run it take part in trainings.
func (j *Job) Finalized(args []family.Arg) error {
	name := j.Family.Info().Name
	if !version.Has("families", name) {
		return version.NotFinalized("algorithm " + name)
	}
	for _, a := range args {
		o := family.Find(j.options(), a.Name)
		if o != nil && !version.Has("options", o.Names[0]) && !version.Has("options."+name, o.Names[0]) {
			return version.NotFinalized(fmt.Sprintf("option %q", o.Names[0])).At(a.Pos)
		}
	}
	for i := range j.spec.Cols {
		if c := &j.spec.Cols[i]; c.Encoder > feature.Instant { // the last that the version before has
			return version.NotFinalized("encoder " + c.Encoder.String()).OnColumn(c.Name)
		}
	}
	return nil
}

// ofOthers returns the error for an option that only other families have, as distinct
// from an unknown one.
func (j *Job) ofOthers(args []family.Arg) error {
	for _, a := range args {
		if family.Find(j.options(), a.Name) != nil {
			continue
		}
		var have []string
		for _, f := range families.All {
			if family.Find(f.Options(), a.Name) != nil {
				have = append(have, f.Info().Name)
			}
		}
		if len(have) > 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "option %q is not one of %s", a.Name, j.Family.Info().Name).At(a.Pos).
				WithHint("It is one of %s.", strings.Join(have, ", "))
		}
	}
	return nil
}

// FindFamily returns the family that the statement trains, and the task that the name
// asks for.
func FindFamily(algorithm string, args []family.Arg) (f family.Family, task family.Task, err error) {
	if algorithm != "" {
		if f, task, err = families.Find(algorithm); err != nil {
			return nil, "", err
		}
	}
	for _, a := range args {
		if d := family.Find(family.Common, a.Name); d == nil || d.Names[0] != "model_type" {
			continue
		}
		name, err := family.Read([]family.Arg{a}, family.Common)
		if err != nil {
			return nil, "", err
		}
		g, asks, err := families.Find(name.Text("model_type", ""))
		if err != nil {
			return nil, "", pgerr.From(err).At(a.Pos)
		}
		if f != nil && (f != g || asks != "" && task != "" && asks != task) {
			return nil, "", pgerr.New(pgerr.InvalidParameterValue, "the statement names two algorithms: %s and %s", algorithm, name.Text("model_type", "")).At(a.Pos)
		}
		if f = g; asks != "" {
			task = asks
		}
	}
	if f == nil {
		return nil, "", pgerr.New(pgerr.InvalidParameterValue, "the statement names no algorithm").
			WithHint("Add USING logistic_regression, or the option model_type.")
	}
	return f, task, nil
}

// labels returns the targets' names, nil for none, and whether the statement named
// them.
func (j *Job) labels(predict []string) (names []string, named bool, err error) {
	option := j.Options.Texts("label", nil)
	switch {
	case predict != nil && option != nil && !slices.Equal(predict, option):
		return nil, false, pgerr.New(pgerr.InvalidParameterValue, "the statement names two target columns: %q and %q", strings.Join(predict, ", "), strings.Join(option, ", "))
	case predict != nil:
		return predict, true, nil
	case option != nil:
		return option, true, nil
	case find(j.Columns, "label") >= 0: // as in BigQuery ML
		return []string{"label"}, false, nil
	}
	return nil, false, nil
}

// makeSpec gives the columns their roles.
func (j *Job) makeSpec(labels []string, split *Split) error {
	named := make(map[string]bool, len(j.Columns))
	for _, c := range j.Columns {
		if named[c.Name] {
			return pgerr.New(pgerr.DuplicateColumn, "column name %q occurs more than once in the training query", c.Name).OnColumn(c.Name).
				WithHint("Give the columns different names with AS.")
		}
		named[c.Name] = true
		j.spec.Cols = append(j.spec.Cols, feature.Col{Column: c, Role: feature.Feature})
	}
	parts := make([]string, len(j.Columns)) // the role each column has got so far
	heldBy := ""
	if split != nil {
		heldBy = split.Column
	}
	for _, p := range []struct {
		part  string
		role  feature.Role
		names []string
	}{
		{"target", feature.Label, labels},
		{"weight", feature.Weight, []string{j.Options.Text("weight", "")}},
		{"data_split_col", feature.Split, []string{heldBy}},
		{family.Event.Names[0], feature.Event, []string{j.Options.Text(family.Event.Names[0], "")}},
		{family.PartitionBy.Names[0], feature.Key, j.Options.Texts(family.PartitionBy.Names[0], nil)},
		{family.QueryID.Names[0], feature.Key, []string{j.Options.Text(family.QueryID.Names[0], "")}},
		{family.OrderBy.Names[0], feature.Key, j.Options.Texts(family.OrderBy.Names[0], nil)},
	} {
		at := j.Options.Pos(p.part)
		if p.role == feature.Label {
			at = j.Options.Pos("label")
		}
		for _, name := range p.names {
			if name == "" {
				continue
			}
			i := find(j.Columns, name)
			switch {
			case i < 0:
				return undefined(name).At(at)
			case parts[i] == p.part:
				return pgerr.New(pgerr.InvalidParameterValue, "column %q is named twice in %s", name, p.part).At(at)
			case parts[i] != "":
				return pgerr.New(pgerr.InvalidParameterValue, "column %q cannot be both %s and %s", name, parts[i], p.part).At(at)
			}
			parts[i] = p.part
			if p.role != feature.Label || name == labels[0] {
				j.spec.Cols[i].Role = p.role
			} else {
				j.spec.Cols[i].Target = true
			}
			if p.role == feature.Label && len(labels) > 1 {
				j.targets = append(j.targets, j.Columns[i].Name)
			}
		}
	}
	return nil
}

// CheckTargets returns an error, with its position, for a name in PREDICT that is no
// column of the training query.
func CheckTargets(predict []string, pos []int, cols []record.Column) error {
	for i, name := range predict {
		if find(cols, name) < 0 {
			return undefined(name).At(pos[i])
		}
	}
	return nil
}

// makePlan asks the family what it needs of columns with these roles.
func (j *Job) makePlan() (err error) {
	r := &family.Request{Options: j.Options, Task: j.task, Columns: j.Features()}
	if at := j.spec.LabelCol(); at >= 0 {
		r.Target = &j.Columns[at]
	}
	for _, name := range j.more() {
		r.More = append(r.More, j.Columns[j.column(name)])
	}
	j.Family = family.Several(j.Family, j.targets)
	if j.Plan, err = j.Family.Plan(r); err != nil {
		return err
	}
	addBounds(j)
	j.windows, j.spec.Categories, j.spec.Gaps = nil, j.Plan.Categories, j.Options.Bool("nan_as_null", false)
	if w := j.Plan.Windows; w != nil {
		j.windows = &record.Windows{Length: w.Length, Stride: w.Stride, Whole: w.Whole}
		for _, n := range w.PartitionBy {
			j.windows.Partition = append(j.windows.Partition, find(j.Columns, n))
		}
		for _, n := range w.OrderBy {
			j.windows.Order = append(j.windows.Order, find(j.Columns, n))
		}
	}
	return nil
}

// modelWindows returns the windows that the job's model will score.
func modelWindows(j *Job) *model.Windows {
	w := j.windows
	if w == nil || w.Whole {
		return nil
	}
	out := &model.Windows{Length: w.Length, Stride: w.Stride}
	for _, c := range w.Partition {
		out.PartitionBy = append(out.PartitionBy, j.Columns[c])
	}
	for _, c := range w.Order {
		out.OrderBy = append(out.OrderBy, j.Columns[c])
	}
	return out
}

// encoders completes the spec with what the family needs and what TRANSFORM says.
func (j *Job) encoders(transforms []feature.Transform) error {
	s := &j.spec
	s.Standardize = j.Options.Bool("standardize", j.Plan.Standardize)
	s.Classes, s.KeepMissing, s.Silence = j.Plan.Target == family.ClassTarget, j.Plan.KeepMissing, j.Plan.Silence
	for i, name := range j.more() {
		if j.Plan.Parts[i+1].Target == family.ClassTarget {
			s.Cols[j.column(name)].Encoder = feature.Class
		}
	}
	for i := range transforms {
		if err := transforms[i].Apply(s); err != nil {
			return err
		}
		if feature.Sparse(s) && (!j.InPlace() || !j.Plan.Sparse || s.Targets() != nil) {
			return errSparse(j).At(transforms[i].Pos)
		}
		if j.windows != nil && s.OutOfFold() {
			return pgerr.Unsupported("ml.target_encode does not go with windows and groups of rows").At(transforms[i].Pos)
		}
	}
	for i := range s.Cols {
		if c := &s.Cols[i]; c.Role == feature.Feature && c.MaxCategories == 0 {
			c.MaxCategories = j.Options.Int("max_categories", 0)
		}
	}
	if err := makeSeries(j); err != nil {
		return err
	}
	if err := makePair(j); err != nil {
		return err
	}
	for _, name := range j.Plan.Plain {
		c := &s.Cols[find(j.Columns, name)]
		if c.Encoder != feature.Auto {
			return pgerr.New(pgerr.InvalidParameterValue, "column %q is used as it is: TRANSFORM cannot encode it", name).OnColumn(name)
		}
		c.Role, c.Encoder, c.NoIndicator = feature.Feature, feature.Plain, true
	}
	if err := s.Resolve(); err != nil {
		return err
	}
	switch j.Options.Text("precision", "auto") {
	case "float32":
		s.Narrow = true
	case "auto":
		s.Narrow = j.Plan.Narrow || s.AutoNarrow()
	}
	l, err := record.NewLayout(j.Columns)
	if err != nil || j.windows == nil {
		return err
	}
	return j.windows.Check(l)
}

// errSparse is the error for features that the family, or what the options ask of it, does not take.
func errSparse(j *Job) *pgerr.Error {
	return pgerr.Unsupported("terms of texts are sparse features, which %s does not take here", j.Family.Info().Name).
		WithHint("With one target, without mini-batches, windows and ml.target_encode these take them: %s.", families.That(func(i *family.Info) string { return i.Sparse }))
}

// makeSeries makes the column of times of a series the job's only feature.
func makeSeries(j *Job) error {
	if j.Plan.Time == "" {
		return nil
	}
	s := &j.spec
	for i := range s.Cols {
		c := &s.Cols[i]
		if i == find(j.Columns, j.Plan.Time) {
			if !c.Type.IsStamp() && !c.Type.IsInteger() {
				return pgerr.New(pgerr.DatatypeMismatch, "the times of a series are dates, timestamps or integers, and column %q is of another type", c.Name).OnColumn(c.Name).
					At(j.Options.Pos(family.OrderBy.Names[0])).WithHint("Cast it in the query.")
			}
			c.Role, c.Encoder = feature.Feature, feature.Instant
			continue
		}
		if c.Role == feature.Feature && !j.Plan.Regressors {
			return pgerr.Unsupported("%s learns from times and the target alone, and the query has a column %q", j.Family.Info().Name, c.Name).OnColumn(c.Name).
				WithHint("Leave it out of the query, or use a family that takes regressors: %s. If it tells series apart, write GROUP BY with it before AS.",
					families.That(func(i *family.Info) string { return i.Regressed }))
		}
	}
	return nil
}

// apart has all values of a column that an option names told apart.
func apart(j *Job, d *family.Option, name string) error {
	at := find(j.Columns, name)
	if at < 0 {
		return undefined(name).At(j.Options.Pos(d.Names[0]))
	}
	c := &j.spec.Cols[at]
	if !feature.ToldApart(c.Type) {
		return pgerr.New(pgerr.DatatypeMismatch, "column %q has a type that cannot be %s", c.Name, d.Names[0]).OnColumn(c.Name).At(j.Options.Pos(d.Names[0])).
			WithHint("Cast it in the query, such as %s::text AS %[1]s.", lex.QuoteName(c.Name))
	}
	c.Role, c.Encoder, c.MaxCategories = feature.Feature, feature.OneHot, math.MaxInt32
	return nil
}

// makePair has the names of rows told apart; or users and items, whose columns it makes the job's only features.
func makePair(j *Job) error {
	if j.Plan.Identity != "" {
		return apart(j, family.IDColumn, j.Plan.Identity)
	}
	if j.Plan.Pair == nil {
		return nil
	}
	for i, d := range []*family.Option{family.UserColumn, family.ItemColumn} {
		if err := apart(j, d, j.Plan.Pair[i]); err != nil {
			return err
		}
	}
	for i := range j.spec.Cols {
		if c := &j.spec.Cols[i]; c.Role == feature.Feature && c.MaxCategories != math.MaxInt32 {
			return pgerr.Unsupported("%s learns from users, items and the target alone, and the query has a column %q", j.Family.Info().Name, c.Name).OnColumn(c.Name).
				WithHint("Leave it out of the query.")
		}
	}
	return nil
}

func errNoWindows(w *family.Windows) error {
	return pgerr.New(pgerr.InvalidParameterValue, "no partition of the training query has the %d rows of a window", w.Length).
		WithHint("Shorten the option window, or partition by fewer columns.")
}

// Encode returns the bytes from which another node makes the same job.
func (j *Job) Encode() []byte {
	var e canon.E
	e.Str(j.Family.Info().Name)
	e.Str(string(j.task))
	e.Strs(j.targets)
	j.Options.Encode(&e)
	j.spec.Encode(&e)
	return e.B
}

// DecodeJob reads what Encode wrote.
func DecodeJob(b []byte) (*Job, error) {
	d := canon.Read(b)
	name := d.Str()
	j := &Job{task: family.Task(d.Str()), targets: d.Strs(), Options: family.DecodeValues(d), spec: *feature.DecodeSpec(d)}
	if err := d.Done("a training job"); err != nil {
		return nil, err
	}
	var err error
	if j.Family, _, err = families.Find(name); err != nil {
		return nil, err
	}
	j.Columns = j.spec.Columns()
	return j, j.makePlan()
}

// Spec returns the specification of the features. It must not be changed.
func (j *Job) Spec() *feature.Spec { return &j.spec }

// split returns the method by which rows are held out.
func (j *Job) split() string {
	how := "no_split"
	switch {
	case j.Options.Given("data_split_col"):
		return "custom" // a column decides
	case j.Options.Given("data_split_eval_fraction"):
		how = "random"
	}
	return j.Options.Text("data_split_method", how)
}

// Folds returns how many folds the cross-validation has, or a calibration; 0 for none.
func (j *Job) Folds() int {
	n := j.Options.Int("cross_validation", 0)
	if n == 0 && calibrates(j) && j.split() == "no_split" {
		return calibrationFolds
	}
	return n
}

// counts reports whether what is held out depends on how often rows occur.
func (j *Job) counts() bool { return j.windows == nil && (j.draws() || j.Folds() > 0) }

// draws reports whether rows to hold out are drawn.
func (j *Job) draws() bool { return j.split() == "random" || j.split() == "auto_split" }

// bands returns the bands of draws, whose cut is known about before the rows are counted.
func (j *Job) bands() holdout.Bands {
	var cuts [][2]float64
	switch j.split() {
	case "random":
		cuts = append(cuts, [2]float64{j.holdout(0), j.holdout(0)})
	case "auto_split":
		cuts = append(cuts, [2]float64{0, j.holdout(1_000_000)}) // rows that do not fit in memory are many
	}
	for i := 1; i < j.Folds(); i++ {
		share := float64(i) / float64(j.Folds())
		cuts = append(cuts, [2]float64{share, share})
	}
	return holdout.BandsOf(cuts...)
}

// rows returns what of the job matters to its rows.
func (j *Job) rows() *rows.Training {
	return &rows.Training{Columns: j.Columns, Spec: &j.spec, More: j.more(), Windows: j.windows, InPlace: j.InPlace(), Counts: j.counts(),
		Holds: j.split() != "no_split", Folds: j.Folds(), Bands: j.bands(), Seed: j.Seed()}
}

// holdout returns the fraction of so many rows that is held out.
func (j *Job) holdout(rows int64) float64 {
	switch j.split() {
	case "random":
		return j.Options.Float("data_split_eval_fraction", 0.2)
	case "auto_split": // as in BigQuery ML
		switch {
		case rows < 500:
			return 0
		case rows <= 50000:
			return 0.2
		}
		return 10000 / float64(rows)
	}
	return 0
}

// WarmStart reports whether the training continues from a model (Input.Start).
func (j *Job) WarmStart() bool { return j.Options.Bool(family.WarmStart.Names[0], false) }

// Gathers reports whether the first worker communicates with each of the others
// directly: it sends them each task and receives every partial.
func (j *Job) Gathers() bool { return j.Options.Text("reduction", "tree") == "gather" }

// InPlace reports whether rows are trained on where the query produced them: nothing is
// distributed, and all partials are of nodes.
func (j *Job) InPlace() bool {
	return j.windows == nil && j.Plan.Scope == family.ByNode && !j.Plan.Distributed && !j.spec.OutOfFold()
}

// Leaves returns the number of leaves for these numbers of rows by bucket, summed over
// all nodes.
func (j *Job) Leaves(buckets []int64) int {
	if j.windows != nil {
		return j.windows.Leaves(buckets)
	}
	var rows int64
	for _, n := range buckets {
		rows += n
	}
	return record.Leaves(rows)
}

// SpreadsCopies reports whether the copies of frequent rows are spread over so many leaves.
func (j *Job) SpreadsCopies(leaves int) bool { return leaves > 1 && !j.InPlace() && j.windows == nil }

// Seed returns the training's random seed.
func (j *Job) Seed() uint64 { return uint64(j.Options.Float("seed", 0)) }

// Target returns the label column, nil where there is none.
func (j *Job) Target() *record.Column {
	if at := j.spec.LabelCol(); at >= 0 {
		return &j.Columns[at]
	}
	return nil
}

// Beside returns the name of the column that an evaluation needs beside the target: whether the
// event of a duration happened, which query a row is of, the time of a series, whose rating it is, or
// the name of a row; "" for none.
func (j *Job) Beside() string {
	if j.Plan.Time != "" {
		if at := find(j.Columns, j.Plan.Time); at >= 0 {
			return j.Columns[at].Name
		}
	}
	for _, o := range []*family.Option{family.Event, family.QueryID, family.UserColumn, family.IDColumn} {
		if at := find(j.Columns, j.Options.Text(o.Names[0], "")); at >= 0 {
			return j.Columns[at].Name
		}
	}
	return ""
}

// Targets returns the names of all targets.
func (j *Job) Targets() []string {
	if t := j.Target(); j.targets == nil && t != nil {
		return []string{t.Name}
	}
	return j.targets
}

// more returns the targets besides the label.
func (j *Job) more() []string {
	if j.targets == nil {
		return nil
	}
	return j.targets[1:]
}

// column returns the number of the column with exactly this name.
func (j *Job) column(name string) int {
	return slices.IndexFunc(j.Columns, func(c record.Column) bool { return c.Name == name })
}

// planOf returns the plan of one of the targets, the first being 0.
func (j *Job) planOf(target int) *family.Plan {
	if j.Plan.Parts != nil {
		return j.Plan.Parts[target]
	}
	return j.Plan
}

// learns separates the encoders of the further targets from those of the features,
// which the family learns from and the model keeps. The numbers are the positions of
// these targets in blocks.
func (j *Job) learns(f *feature.Fitted) (*feature.Fitted, []int) {
	if j.targets == nil {
		return f, nil
	}
	return f.Without(j.more())
}

// Features returns the columns that the model will need.
func (j *Job) Features() []record.Column {
	var out []record.Column
	for _, c := range j.spec.Cols {
		if c.Role == feature.Feature && !c.Target {
			out = append(out, c.Column)
		}
	}
	return out
}

// Advice returns a hint for a training that ran out of iterations. It uses the names of
// the family's own options, or the one that the statement used (epochs for
// max_iterations).
func (j *Job) Advice() string {
	o := j.options()
	most := family.Find(o, "max_iterations")
	if most == nil {
		return "Train on more rows, or on fewer features."
	}
	name := most.Names[0]
	for _, a := range j.args {
		if family.Find([]*family.Option{most}, a.Name) != nil {
			name = strings.ToLower(a.Name)
		}
	}
	advice := "Raise " + name
	switch {
	case j.Plan.Pair != nil: // there are no features to scale
		return advice + ", or l2_reg."
	case family.Find(o, "penalty") == nil && (family.Find(o, "l2_reg") == nil || family.Find(o, "tolerance") == nil):
		return advice + "."
	case j.spec.Standardize:
		return advice + ", or add a penalty."
	}
	return advice + ", standardize the features, or add a penalty."
}

// MaxIterations returns the maximum number of iterations of the training, 0 where it is
// unknown.
func (j *Job) MaxIterations() int { return j.Plan.MaxIterations }
