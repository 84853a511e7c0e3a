package model

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// rows returns an error for a model that predicts no rows: one that continues series, or finds rows.
func (m *model) rows(fun string, pos typing.Position) error {
	if m.v.Task == catalog.TaskNeighborSearch {
		return pgerr.Unsupported("%s takes models that predict rows, and model \"%s\" finds them", fun, m.name).
			WithHint("Use ml.neighbors('%s', (SELECT …), k => 5).", m.name).At(pos.At())
	}
	if m.v.Task != catalog.TaskForecasting {
		return nil
	}
	return pgerr.Unsupported("%s takes models that predict rows, and model \"%s\" continues a series", fun, m.name).
		WithHint("Use ml.forecast('%s', horizon => 28, confidence => 0.9).", m.name).At(pos.At())
}

// defaultConfidence is the confidence of a forecast that is not told one.
const defaultConfidence = 0.95

// mostHorizon is the most steps of a forecast.
const mostHorizon = 10_000

// forecast binds ml.forecast('model', horizon => 28, confidence => 0.9), as View does. A horizon of 0 is the model's own. The
// column of times has the name and type that it had in training.
func forecast(sc *scope.Scope, m *model, args []ast.Node) (string, []types.Datum, []plan.Column, error) {
	b, fail := sc.Binder, func(err error) (string, []types.Datum, []plan.Column, error) { return "", nil, nil, err }
	if m.v.Time() == nil {
		return fail(pgerr.New(pgerr.WrongObjectType, "model \"%s\" does not continue a series", m.name).
			WithHint("Its task is %s: use predict or ml.predict.", m.v.Task).At(b.SpotFunc("forecast").At()))
	}
	v, horizon, confidence := m.v, int64(0), defaultConfidence
	seen := map[string]bool{}
	for i, a := range args[1:] {
		par, val := "version", a
		if na, ok := a.(*ast.NamedArgExpr); ok {
			par, val = strings.ToLower(na.Name), na.Arg
		} else if i > 0 {
			par = ""
		}
		if par == "confidence_level" {
			par = "confidence"
		}
		if seen[par] || par != "version" && par != "horizon" && par != "confidence" && par != stepsArgument {
			return fail(pgerr.New(pgerr.UndefinedFunction, "ml.forecast takes the name of a model, a horizon, a confidence and a version").
				WithHint("Write ml.forecast('model', horizon => 28, confidence => 0.9).").At(b.PosExpr(a)))
		}
		seen[par] = true
		e, err := sc.Expr(val, scope.InFunctions)
		if err != nil {
			return fail(err)
		}
		d, _, err := query.ConstArg(b, e, "ml.forecast", val)
		if err != nil {
			return fail(err)
		}
		n, whole := d.(int64)
		switch par {
		case "version":
			if !whole || n < 1 {
				return fail(pgerr.New(pgerr.DatatypeMismatch, "the argument version of ml.forecast is the number of one").At(b.PosExpr(val)))
			}
			if m.fixed && int64(m.v.Number) != n {
				return fail(pgerr.New(pgerr.InvalidParameterValue, "ml.forecast is asked for two versions").At(b.PosExpr(val)))
			}
			if v, err = b.Session.State.ModelByOID(m.ref.OID).Want(int(n)); err != nil {
				return fail(pgerr.From(err).At(b.PosExpr(val)))
			}
			if v.Time() == nil {
				return fail(pgerr.New(pgerr.WrongObjectType, "version %d of model \"%s\" does not continue a series", v.Number, m.name).At(b.PosExpr(val)))
			}
		case "horizon":
			if !whole || n < 1 || n > mostHorizon {
				return fail(pgerr.New(pgerr.InvalidParameterValue, "the horizon of a forecast is an integer from 1 to %d", mostHorizon).At(b.PosExpr(val)))
			}
			horizon = n
		case "confidence":
			ok := whole
			switch x := d.(type) {
			case float64:
				confidence, ok = x, true
			case number.Decimal:
				confidence, ok = x.Float64(), true
			}
			if !ok || whole || !(confidence > 0 && confidence < 1) {
				return fail(pgerr.New(pgerr.InvalidParameterValue, "the confidence of a forecast is a number between 0 and 1").At(b.PosExpr(val)))
			}
		}
	}
	var front []plan.Column
	if v.Groups != nil {
		front = keyColumns(v.Groups)
	}
	if len(v.Features) > 1 && !seen[stepsArgument] {
		return fail(pgerr.New(pgerr.UndefinedFunction, "model \"%s\" needs the future values of its regressors", m.name).WithDetail("The model's features are %s.", featureList(v)).
			WithHint("Give them: ml.forecast('%s', (SELECT …), horizon => 28).", m.name).At(b.SpotFunc("forecast").At()))
	}
	front = append(front, plan.Column{Name: v.Time().Name, Type: v.Time().Type})
	return "forecast", []types.Datum{int64(m.ref.OID), int64(v.Number), horizon, confidence}, front, nil
}
