package training

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/groups"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// grouping is the GROUP BY of a training.
type grouping struct {
	names   []string
	pos     []int
	unknown string
}

// grouping returns the GROUP BY of a statement, which an option may say too; nil for none.
func (s Statement) grouping(args []family.Arg) (*grouping, error) {
	g := &grouping{names: s.GroupBy, pos: s.GroupByPos}
	known := family.Common
	if f, _, err := train.FindFamily(s.Algorithm, args); err == nil && slices.Contains(f.Options(), family.SeriesID) {
		known = append(slices.Clip(known), family.SeriesID)
	}
	for _, a := range args {
		d := family.Find(known, a.Name)
		if d == nil || d.Names[0] != "grouping_cols" && d.Names[0] != "unknown_group" && d != family.SeriesID {
			continue
		}
		v, err := d.Read(family.Value{Arg: a})
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case string:
			if g.unknown = v; g.pos == nil {
				g.pos = []int{a.Pos}
			}
		case []string:
			if g.names != nil && !slices.Equal(g.names, v) {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "the statement names two lists of grouping columns: %q and %q", strings.Join(g.names, ", "), strings.Join(v, ", ")).At(a.Pos)
			}
			g.names, g.pos = v, slices.Repeat([]int{a.Pos}, len(v))
		}
	}
	switch {
	case g.names == nil && g.unknown != "":
		return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q needs groups", "unknown_group").At(g.pos[0]).WithHint("Add GROUP BY with the columns that say which group a row belongs to.")
	case g.names == nil:
		return nil, nil
	case g.unknown == "":
		g.unknown = catalog.UnknownNull
	}
	return g, nil
}

// has reports whether a column is a key.
func (g *grouping) has(name string) bool {
	return g != nil && slices.ContainsFunc(g.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// divide divides the columns of the training query into those that are trained on and the keys.
func (p *Plan) divide(g *grouping) error {
	cols := datasetColumns(p.Query)
	if g == nil {
		for i := range cols {
			p.rows = append(p.rows, i)
		}
		return nil
	}
	p.Groups = &catalog.ModelGroups{Unknown: g.unknown}
	for i, name := range g.names {
		at := slices.IndexFunc(cols, func(c record.Column) bool { return c.Name == name })
		if at < 0 {
			at = slices.IndexFunc(cols, func(c record.Column) bool { return strings.EqualFold(c.Name, name) })
		}
		switch {
		case at < 0:
			return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query", name).At(g.pos[i])
		case slices.Contains(p.keys, at):
			return pgerr.New(pgerr.InvalidParameterValue, "column %q is named twice in GROUP BY", name).At(g.pos[i])
		}
		key, ok := groups.KeyType(p.Query.Cols[at].Type)
		if !ok {
			return pgerr.Unsupported("column %q cannot say which group a row belongs to, for its type", name).At(g.pos[i]).WithHint("Compute a text or a number of it in the training query.")
		}
		p.keys = append(p.keys, at)
		p.Groups.By = append(p.Groups.By, catalog.ModelGroupKey{Name: cols[at].Name, Type: cols[at].Type, Key: key})
	}
	for i := range cols {
		if !slices.Contains(p.keys, i) {
			p.rows = append(p.rows, i)
		}
	}
	return nil
}

// columns returns the columns that are trained on.
func (p *Plan) columns() (out []record.Column) {
	cols := datasetColumns(p.Query)
	for _, i := range p.rows {
		out = append(out, cols[i])
	}
	return out
}

// mayGroup returns an error for a training that cannot be one of groups.
func (p *Plan) mayGroup() error {
	if p.Groups == nil {
		if p.Job.Options.Given(train.TuningScope) {
			return pgerr.New(pgerr.InvalidParameterValue, "option %q needs groups", train.TuningScope).At(p.Job.Options.Pos(train.TuningScope)).
				WithHint("Add GROUP BY with the columns that say which group a row belongs to.")
		}
		return nil
	}
	no := func(option, why string) error {
		return pgerr.Unsupported("one model a group does not go with %s", why).At(p.Job.Options.Pos(option))
	}
	switch {
	case p.Job.Plan.Windows != nil && p.Job.Plan.Windows.Whole:
		return no(family.QueryID.Names[0], "queries yet")
	case p.Job.Plan.Windows != nil:
		return no("window", "windows of rows yet")
	case p.Job.Plan.Given != nil:
		return no("init", "rows to begin with yet")
	case p.Job.Options.Bool("keep_trials", false):
		return no("keep_trials", "keep_trials yet")
	case p.Job.WarmStart():
		return no(family.WarmStart.Names[0], "warm_start yet")
	}
	return nil
}

// groupSum is what is known of all groups.
type groupSum struct {
	first  *model.Model // the first one, with the classes of all
	failed error        // the first error
	rows   int64
	iters  int
	lost   int64 // did not converge
	loss   float64
	metric []family.Metric // weighted sums
	weight []float64       // of metrics, by place
	lossOf float64
}

// begin makes a model the first one, to which the classes of others are added.
func (s *groupSum) begin(m *model.Model) {
	first, f := *m, *m.Fitted
	f.More = slices.Clone(f.More)
	first.Fitted = &f
	s.first = &first
}

func (s *groupSum) add(b []byte, key string) (failed bool, err error) {
	g, err := groups.Decode(b)
	if err != nil {
		return false, err
	}
	if g.Failed() {
		if s.failed == nil {
			s.failed = pgerr.New(pgerr.Code(g.Code), "%s", g.Error).WithDetail("It is the error of the first group, %s. No group could be trained.", key)
		}
		return true, nil
	}
	if s.first == nil {
		m, err := model.Decode(g.Model)
		if err != nil {
			return false, err
		}
		s.begin(m)
	}
	f := s.first.Fitted
	for i, keys := range g.Classes {
		if i == 0 {
			f.Keys = feature.UnionKeys(f.Label.Type, f.Keys, keys)
		} else if i <= len(f.More) {
			f.More[i-1].Keys = feature.UnionKeys(f.More[i-1].Type, f.More[i-1].Keys, keys)
		}
	}
	w := float64(g.Rows)
	s.rows, s.iters = s.rows+g.Rows, max(s.iters, g.Iterations)
	if !g.Converged {
		s.lost++
	}
	if !math.IsNaN(g.TrainLoss) && !math.IsInf(g.TrainLoss, 0) {
		s.loss, s.lossOf = s.loss+w*g.TrainLoss, s.lossOf+w
	}
	for _, m := range g.Metrics {
		at := slices.IndexFunc(s.metric, func(x family.Metric) bool { return x.Name == m.Name })
		if at < 0 {
			at = len(s.metric)
			s.metric, s.weight = append(s.metric, family.Metric{Name: m.Name}), append(s.weight, 0)
		}
		if !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			s.metric[at].Value, s.weight[at] = s.metric[at].Value+w*m.Value, s.weight[at]+w
		}
	}
	return false, nil
}

// result is the training of all groups.
func (s *groupSum) result(of *catalog.ModelGroups) *train.Result {
	mean := func(sum, weight float64) float64 {
		if weight == 0 {
			return math.NaN()
		}
		return sum / weight
	}
	r := &train.Result{Model: s.first, Rows: s.rows, Iterations: s.iters, TrainLoss: mean(s.loss, s.lossOf), Converged: s.lost == 0, Stopped: "all groups were trained"}
	for i, m := range s.metric {
		r.Metrics = append(r.Metrics, family.Metric{Name: m.Name, Value: mean(m.Value, s.weight[i])})
	}
	if of.Failed > 0 {
		r.Warnings = append(r.Warnings, train.Warning{Message: fmt.Sprintf("%d of %d groups could not be trained", of.Failed, of.Total),
			Hint: "ml.model_groups lists them, with their errors."})
	}
	if s.lost > 0 {
		r.Warnings = append(r.Warnings, train.Warning{Message: fmt.Sprintf("the training of %d of %d groups did not converge", s.lost, of.Total),
			Hint: "ml.model_groups has the iterations of each."})
	}
	return r
}

// grouped returns the plan whose rows are the trained groups, but those that are done. One with more than long rows is
// left, if that is not 0.
func (d *drive) grouped(ctx context.Context, r *reading, done groups.Keys, long int64) (plan.Node, error) {
	pick, next, err := d.picked(ctx, r)
	if err != nil {
		return nil, err
	}
	out := &plan.TrainGroups{Input: pick, Job: d.job().EncodeWhole(), Done: done, Long: long, Out: plan.Column{ID: next, Name: "trained", Type: types.Bytea}}
	next++
	for i, at := range d.plan.keys {
		key := d.plan.Groups.By[i]
		in := plan.Column{ID: next, Name: key.Name, Type: key.Key}
		pick.Items = append(pick.Items, plan.Item{Col: in, Expr: columnAs(r.query.Cols[at], key.Key)})
		out.Keys = append(out.Keys, plan.Item{Col: plan.Column{ID: next + 1, Name: key.Name, Type: key.Key}, Expr: &expr.Col{ID: in.ID, Typ: in.Type, Name: in.Name}})
		next += 2
	}
	return out, nil
}
