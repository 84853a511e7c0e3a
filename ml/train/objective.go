package train

import (
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// objective is a metric that a search can optimise. of is the kind of target that has
// it; others have what their families measure.
type objective struct {
	names []string // the first is the metric's own
	lower bool     // is better
	of    family.Target
}

// objectives are the metrics of evaluate.go and of families' drivers.
var objectives = []objective{
	{[]string{"roc_auc"}, false, family.ClassTarget},
	{[]string{"accuracy"}, false, family.ClassTarget},
	{[]string{"precision"}, false, family.ClassTarget},
	{[]string{"recall"}, false, family.ClassTarget},
	{[]string{"f1_score", "f1", "f1_macro"}, false, family.ClassTarget},
	{[]string{"log_loss", "neg_log_loss"}, true, family.ClassTarget},
	{[]string{"r2_score", "r2"}, false, family.NumberTarget},
	{[]string{"root_mean_squared_error", "rmse", "neg_root_mean_squared_error"}, true, family.NumberTarget},
	{[]string{"mean_squared_error", "mse", "neg_mean_squared_error"}, true, family.NumberTarget},
	{[]string{"mean_absolute_error", "mae", "neg_mean_absolute_error"}, true, family.NumberTarget},
	{[]string{"davies_bouldin_index"}, true, family.NoTarget},
	{[]string{"inertia"}, true, family.NoTarget},
	{[]string{"mean_squared_distance"}, true, family.NoTarget},
	{[]string{"total_explained_variance_ratio"}, false, family.NoTarget},
	{[]string{"concordance"}, false, family.NoTarget},
	{[]string{"ndcg"}, false, family.NoTarget},
	{[]string{"map", "mean_average_precision"}, false, family.NoTarget},
	{[]string{lossObjective, "validation_loss", "train_loss"}, true, family.NoTarget},
}

// lossObjective is the loss of the rows held out, or of the training rows if none are.
const lossObjective = "loss"

// measuredFirst are the metrics that families without a class or a number to predict are
// compared by, where they measure one of them.
var measuredFirst = []string{"davies_bouldin_index", "concordance", "ndcg", "total_explained_variance_ratio"}

// aim is the objective of a search of one job: a metric, of one of several targets.
type aim struct {
	name string // as among the metrics
	*objective
}

// objectiveNames are those that fit a target.
func objectiveNames(of family.Target) (out []string) {
	for _, o := range objectives {
		if o.of == of || o.names[0] == lossObjective {
			out = append(out, o.names[0])
		}
	}
	return out
}

// aimOf returns what a statement's objective says; nil for one that says nothing.
func aimOf(j *Job, name string) (*aim, error) {
	if name == "" {
		return nil, nil
	}
	metric, prefix, plan := strings.ToLower(name), "", j.Plan
	if j.targets != nil {
		k := -1
		for i, t := range j.targets {
			if rest, ok := strings.CutPrefix(metric, strings.ToLower(t)+"."); ok {
				metric, prefix, k = rest, t+".", i
			}
		}
		if k < 0 {
			return nil, badObjective(j, "the objective of several targets is a metric of one of them").WithHint("Write hparam_tuning_objective = '%s.%s'.", j.targets[0], objectiveNames(j.Plan.Parts[0].Target)[0])
		}
		plan = j.Plan.Parts[k]
	}
	of := measuredTarget(plan)
	i := slices.IndexFunc(objectives, func(o objective) bool { return slices.Contains(o.names, metric) })
	if i < 0 || objectives[i].of != of && objectives[i].names[0] != lossObjective {
		return nil, badObjective(j, "%q is not measured of models of %s", name, j.Family.Info().Name).WithHint("Objectives are %s.", strings.Join(objectiveNames(of), ", "))
	}
	return &aim{prefix + objectives[i].names[0], &objectives[i]}, nil
}

func badObjective(j *Job, format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, format, args...).At(j.Options.Pos("hparam_tuning_objective"))
}

// measuredTarget is the kind of target whose metrics evaluation measures; durations,
// ranks and forecasts are measured by their family.
func measuredTarget(p *family.Plan) family.Target {
	if p.Task == family.TimeToEvent || p.Task == family.Ranking || p.Task == family.Forecasting || p.Ranks {
		return family.NoTarget
	}
	return p.Target
}

// defaultAim is the objective of a statement that has none: of the first target. classes
// is how many it has; part says that trials are measured before their end.
func defaultAim(j *Job, classes int, measured []family.Metric, part bool) *aim {
	prefix, plan := "", j.Plan
	if j.targets != nil {
		prefix, plan = j.targets[0]+".", j.Plan.Parts[0]
	}
	find := func(name string) *aim {
		i := slices.IndexFunc(objectives, func(o objective) bool { return o.names[0] == name })
		return &aim{prefix + name, &objectives[i]}
	}
	switch of := measuredTarget(plan); {
	case of == family.ClassTarget && classes == 2:
		return find("roc_auc")
	case of == family.ClassTarget:
		return find("log_loss")
	case of == family.NumberTarget:
		return find("r2_score")
	}
	for _, name := range measuredFirst {
		if !part && slices.ContainsFunc(measured, func(m family.Metric) bool { return m.Name == name }) {
			return find(name)
		}
	}
	prefix = ""
	return find(lossObjective)
}

// of returns the objective's value of a training, and the loss that a search minimises;
// NaN where it was not measured.
func (a *aim) of(metrics []family.Metric, st family.State) (value, loss float64) {
	value = math.NaN()
	if a.names[0] == lossObjective {
		if value = st.ValidationLoss; value != value {
			value = st.TrainLoss
		}
	}
	for _, m := range metrics {
		if m.Name == a.name {
			value = m.Value
		}
	}
	if a.lower {
		return value, value
	}
	return value, -value
}
