package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// storedMetrics binds ml.evaluate('m'): the metrics of the training.
func storedMetrics(sc *scope.Scope, m *model, n *ast.RangeFunction) (scope.FromItem, error) {
	v := &plan.Values{Rows: [][]expr.Expr{{}}}
	rl := &scope.Item{Name: "evaluate"}
	for _, x := range m.v.Metrics {
		c := sc.Binder.NewCol(sc.Level, x.Name, types.Float8)
		v.Cols = append(v.Cols, c)
		v.Rows[0] = append(v.Rows[0], &expr.Const{Val: types.FiniteOrNull(x.Value), Typ: types.Float8})
		rl.Cols = append(rl.Cols, scope.Column{Name: x.Name, Expr: scope.Col(c)})
	}
	return query.Finish(sc, v, rl, n.Alias, "table")
}

// grouped adds the keys of a model's groups to an aggregation and to the columns of its result.
func grouped(sc *scope.Scope, a *plan.Aggregate, rl *scope.Item, by []scope.Column) {
	for _, k := range by {
		c := sc.Binder.NewCol(sc.Level, k.Name, k.Expr.Type())
		a.Groups = append(a.Groups, plan.Item{Col: c, Expr: k.Expr})
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(c)})
	}
}

// evaluate aggregates the metrics that fit the model over its predictions, for each of its groups.
func evaluate(sc *scope.Scope, m *model, node plan.Node, by []scope.Column, truth, got, proba expr.Expr, n *ast.RangeFunction) (scope.FromItem, error) {
	b := sc.Binder
	for _, e := range []*expr.Expr{&truth, &got} {
		if !b.IsEnum((*e).Type().OID) {
			continue
		}
		var err error
		if *e, err = b.Coerce(*e, types.Text, fn.ExplicitCast, typing.Position{}); err != nil {
			return scope.FromItem{}, err
		}
	}
	a, rl := &plan.Aggregate{Input: node}, &scope.Item{Name: "evaluate"}
	grouped(sc, a, rl, by)
	add := func(fun string, more ...expr.Expr) (plan.Column, error) {
		inv := &typing.Invocation{Name: fun, Args: append([]expr.Expr{truth}, more...), Names: make([]string, 1+len(more))}
		c, err := b.Resolve(inv)
		if err != nil {
			return plan.Column{}, err
		}
		args, ret, err := b.BindArgs(c, inv)
		if err != nil {
			return plan.Column{}, err
		}
		nc := b.NewCol(sc.Level, fun, ret)
		a.Aggs = append(a.Aggs, plan.AggItem{Col: nc, Call: expr.AggCall{Fn: c.Func, Args: args, Typ: ret}})
		return nc, nil
	}
	fun, names := "ml_regression", fn.RegressionMetrics
	if proba != nil {
		fun, names = "ml_classification", fn.ClassMetrics
	}
	given := []expr.Expr{got}
	if proba != nil && len(m.v.Classes) == 2 {
		positive, err := b.Coerce(&expr.Const{Val: m.v.Classes[1], Typ: types.Text}, got.Type(), fn.ExplicitCast, typing.Position{})
		if err != nil {
			return scope.FromItem{}, err
		}
		given = append(given, positive)
	}
	all, err := add(fun, given...)
	if pgerr.Is(err, pgerr.UndefinedFunction) {
		err = pgerr.New(pgerr.DatatypeMismatch, "labels of type %s cannot be compared with predictions of type %s", b.TypeName(truth.Type()), b.TypeName(got.Type())).
			WithHint("Give the label \"%s\" the type that it had in training.", m.v.Target[0]).At(b.PosFunc("evaluate"))
	}
	if err != nil {
		return scope.FromItem{}, err
	}
	var ofProba, further []plan.Column
	if proba == nil {
		for _, fun := range []string{"mean_absolute_percentage_error", "median_absolute_error", "max_error"} {
			c, err := add(fun, got)
			if err != nil {
				return scope.FromItem{}, err
			}
			further = append(further, c)
		}
	}
	if proba != nil {
		for _, fun := range []string{"log_loss", "roc_auc", "average_precision", "brier_score"} {
			if len(m.v.Classes) > 2 && (fun == "average_precision" || fun == "brier_score") {
				continue
			}
			args := []expr.Expr{proba}
			if fun == "log_loss" && len(m.v.Classes) >= 2 {
				args = append(args, m.classArray())
			}
			c, err := add(fun, args...)
			switch {
			case err == nil && (fun == "log_loss" || fun == "roc_auc"):
				ofProba = append(ofProba, c)
			case err == nil:
				further = append(further, c)
			case !pgerr.Is(err, pgerr.UndefinedFunction): // there is none for labels of this type
				return scope.FromItem{}, err
			}
		}
	}
	out, err := checkLabels(sc, m, a, truth)
	if err != nil {
		return scope.FromItem{}, err
	}
	pr := query.NewProjector(b, sc.Level, out)
	for i, c := range rl.Cols {
		rl.Cols[i].Expr = scope.Col(pr.Emit(c.Expr, c.Name))
	}
	put := func(name string, e expr.Expr) {
		rl.Cols = append(rl.Cols, scope.Column{Name: name, Expr: scope.Col(pr.Emit(e, name))})
	}
	for i, name := range names {
		put(name, &expr.Subscript{Array: scope.Col(all), Index: &expr.Const{Val: int64(m.measure(i) + 1), Typ: types.Int4}, Typ: types.Float8})
		if name == "f1_score" {
			for _, c := range ofProba {
				put(c.Name, scope.Col(c))
			}
		}
	}
	for _, c := range further {
		put(c.Name, scope.Col(c))
	}
	return query.Finish(sc, pr.Node(), rl, n.Alias, "table")
}

// measure returns which of fn.ClassMetrics is shown in place i. If the model has more than two classes,
// precision, recall and F1 are means over the classes, even if the rows have only two.
func (m *model) measure(i int) int {
	if len(m.v.Classes) > 2 && fn.ClassMetrics[i] != "accuracy" && i < 4 {
		return i + 3
	}
	return i
}

// classArray returns the classes as texts, in the order of the probabilities.
func (m *model) classArray() *expr.Const {
	a := types.Array{Elem: types.Text}
	for _, c := range m.v.Classes {
		a.Elems = append(a.Elems, c)
	}
	t, _ := types.ArrayOf(types.Text)
	return &expr.Const{Val: a, Typ: t}
}

// knowsAll reports whether the model knows every possible label: both values of a boolean are classes.
func (m *model) knowsAll() bool { return m.v.TargetType.OID == types.BoolOID && len(m.v.Classes) == 2 }

// checkLabels puts a check over an evaluation of a classifier: if the model knows none of the
// labels, such as 'yes' and 'no' for true and false, all rows would just count as wrong.
func checkLabels(sc *scope.Scope, m *model, a *plan.Aggregate, truth expr.Expr) (plan.Node, error) {
	b := sc.Binder
	if t := m.v.TargetType; len(m.v.Classes) == 0 || m.knowsAll() || !b.CanCoerce(truth.Type().OID, t.OID, fn.ImplicitCast) {
		return a, nil
	}
	label, err := b.Coerce(truth, predictType(m.v, expr.PredictValue, 0), fn.ImplicitCast, typing.Position{})
	if err != nil {
		return nil, err
	}
	in := &expr.In{}
	for _, c := range m.v.Classes {
		class, err := b.Coerce(&expr.Const{Val: c, Typ: types.Text}, label.Type(), fn.ExplicitCast, typing.Position{})
		if err != nil {
			return nil, err
		}
		if in.Eq, in.Arg, class, err = b.Equality(label, class, typing.Position{}); err != nil {
			return nil, err
		}
		in.List = append(in.List, class)
	}
	inv := &typing.Invocation{Name: "bool_or", Args: []expr.Expr{in}, Names: make([]string, 1)}
	c, err := b.Resolve(inv)
	if err != nil {
		return nil, err
	}
	known := b.NewCol(sc.Level, "bool_or", types.Bool)
	a.Aggs = append(a.Aggs, plan.AggItem{Col: known, Call: expr.AggCall{Fn: c.Func, Args: inv.Args, Typ: types.Bool}})
	some := &expr.Coalesce{Args: []expr.Expr{scope.Col(known), &expr.Const{Val: true, Typ: types.Bool}}, Typ: types.Bool} // without any labels it passes
	text := func(s string) expr.Expr { return &expr.Const{Val: s, Typ: types.Text} }
	check, err := b.Call("ml_check_labels", typing.Position{}, some, text(m.name), text(strings.Join(m.v.Classes, ", ")))
	if err != nil {
		return nil, err
	}
	return &plan.Filter{Input: a, Conds: []expr.Expr{check}}, nil
}

// confusion counts the rows by true and predicted label.
func confusion(sc *scope.Scope, node plan.Node, by []scope.Column, truth, got expr.Expr, n *ast.RangeFunction) (scope.FromItem, error) {
	b := sc.Binder
	a := &plan.Aggregate{Input: node}
	rl := &scope.Item{Name: "confusion_matrix"}
	grouped(sc, a, rl, by)
	for i, e := range []expr.Expr{truth, got} {
		c := b.NewCol(sc.Level, []string{"expected_label", "predicted_label"}[i], e.Type())
		a.Groups = append(a.Groups, plan.Item{Col: c, Expr: e})
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(c)})
	}
	for _, f := range fn.Lookup("count") {
		if len(f.Args) == 0 {
			c := b.NewCol(sc.Level, "count", types.Int8)
			a.Aggs = append(a.Aggs, plan.AggItem{Col: c, Call: expr.AggCall{Fn: f, Star: true, Typ: types.Int8}})
			rl.Cols = append(rl.Cols, scope.Column{Name: "count", Expr: scope.Col(c)})
		}
	}
	return query.Finish(sc, a, rl, n.Alias, "table")
}
