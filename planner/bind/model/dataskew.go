package model

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// besideRows says what to do where no statistics are kept.
const besideRows = "Compare with the rows themselves: ml.validate_data_drift((SELECT …), (SELECT …))."

// dataSkew binds ml.validate_data_skew('m', (query), …): the rows of the query are counted by the bins of the model's
// training rows, and the counts compared.
func dataSkew(sc *scope.Scope, name string, args []ast.Node, n *ast.RangeFunction) (it scope.FromItem, err error) {
	b, full := sc.Binder, "ml."+name
	pos := b.SpotFunc(name)
	sub := queryOf(args, 1)
	if sub == nil {
		return it, pgerr.New(pgerr.UndefinedFunction, "%s takes a model's name and a query", full).WithHint("Write %s('model', (SELECT …)).", full).At(pos.At())
	}
	m, err := resolveModel(sc, args[0], full)
	if err == nil {
		args, m, err = takeTrial(sc, m, args, full)
	}
	if err != nil {
		return it, err
	}
	switch {
	case m.v.Groups != nil:
		return it, pgerr.Unsupported("model \"%s\" has one model a group, of whose rows no statistics are kept", m.name).At(pos.At()).
			WithHint("%s", besideRows)
	case m.v.Profile == nil && m.v.Task == catalog.TaskForecasting:
		return it, pgerr.Unsupported("model \"%s\" has no statistics of its training rows: none are kept of series", m.name).At(pos.At()).WithHint("%s", besideRows)
	case m.v.Profile == nil && m.v.Origin != nil:
		return it, pgerr.Unsupported("model \"%s\" has no statistics of its training rows", m.name).At(pos.At()).
			WithDetail("None are kept of the numbers of ml.target_encode, of terms of texts, and of more than 1024 features and elements of arrays, or where there was no memory.").
			WithHint("%s", besideRows)
	case m.v.Profile == nil:
		return it, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "model \"%s\" has no statistics of its training rows", m.name).At(pos.At()).
			WithHint("A version that is trained here has them: RETRAIN MODEL %s.", m.name)
	}
	values, err := driftSettings(sc, args[2:], name, "a model and a query")
	if err != nil {
		return it, err
	}
	r, err := query.Bind(sc, sub.Subselect.(*ast.SelectStmt), scope.InFromClause, true)
	if err != nil {
		return it, err
	}
	bins, err := applyModel(sc, m, expr.PredictBins, fieldsOf(sc, r), false, pos)
	if err != nil {
		return it, err
	}
	bins.(*expr.Predict).Given = m.v.Profile
	pr := query.NewProjector(b, sc.Level, r.Node)
	row := pr.Emit(bins, "bins")
	count := b.NewCol(sc.Level, "counts", types.Bytea)
	a := &plan.Aggregate{Input: pr.Node(), Aggs: []plan.AggItem{{Col: count,
		Call: expr.AggCall{Fn: fn.Lookup("ml_bin_counts")[0], Args: []expr.Expr{scope.Col(row)}, Typ: types.Bytea}}}}
	skew := fn.Lookup("ml_data_skew")[0]
	call := plan.SetCall{Fn: skew, Args: []expr.Expr{&expr.Const{Val: m.v.Profile, Typ: types.Bytea}, scope.Col(count), &expr.Const{Val: int64(values["bins"]), Typ: types.Int4}}}
	for _, name := range driftMeasures {
		call.Args = append(call.Args, &expr.Const{Val: values[name], Typ: types.Float8})
	}
	rl := &scope.Item{Name: name}
	for _, c := range skew.Rec.Fields {
		made := b.NewCol(sc.Level, c.Name, c.Type)
		call.Cols = append(call.Cols, made)
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(made)})
	}
	return query.Finish(sc, &plan.ProjectSet{Input: a, Calls: []plan.SetCall{call}}, rl, n.Alias, "table")
}

// comparesModel reports whether the arguments of ml.validate_data_drift are a model and a query, not two queries.
func comparesModel(args []ast.Node) bool {
	if len(args) == 0 {
		return false
	}
	switch typing.Unparen(args[0]).(type) {
	case *ast.A_Const, *ast.ColumnRef:
		return true
	}
	return false
}
