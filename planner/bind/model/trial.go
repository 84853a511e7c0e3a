package model

import (
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// trialArgument is the named argument that says which trial of a search a model is of, as in BigQuery ML.
const trialArgument = "trial_id"

// takeTrial takes the argument out of args, unless it is a feature of the model, and returns the model of that
// trial, which is one of the versions. The first argument names that version then.
func takeTrial(sc *scope.Scope, m *model, args []ast.Node, fun string) ([]ast.Node, *model, error) {
	b := sc.Binder
	rest, val := take(args, trialArgument)
	if val == nil || m.hasFeature(trialArgument) {
		return args, m, nil
	}
	pos := b.PosExpr(val)
	d, err := constant(sc, val, fun)
	if err != nil {
		return nil, nil, err
	}
	number, ok := d.(int64)
	switch s := m.v.Search; {
	case !ok:
		return nil, nil, pgerr.New(pgerr.DatatypeMismatch, "the argument trial_id of %s is the number of a trial", fun).At(pos)
	case s == nil:
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "model \"%s\" has no trials: its version %d is not of a search", m.name, m.v.Number).At(pos)
	case number < 1 || number > int64(len(s.Trials)):
		return nil, nil, pgerr.New(pgerr.UndefinedObject, "model \"%s\" has no trial %d: its search had %d", m.name, number, len(s.Trials)).At(pos)
	case s.Trials[number-1].Version == 0 && int(number) != s.Best:
		return nil, nil, pgerr.New(pgerr.UndefinedObject, "the model of trial %d of \"%s\" was not kept", number, m.name).
			WithHint("Train with keep_trials = true, which keeps those of all trials that succeed.").At(pos)
	}
	of := m.v.Search.Trials[number-1].Version
	if of == 0 { // of a search from before this was noted
		of = m.v.Number
	}
	all := b.Session.State.ModelByOID(m.ref.OID)
	args = rest
	name := lex.QuoteIdent(b.Session.State.Schema(all.Schema).Name) + "." + lex.QuoteIdent(all.Name) + "@" + strconv.Itoa(of)
	args[0] = ast.NewA_Const(ast.NewString(name), -1)
	m, err = resolveModel(sc, args[0], fun)
	if err != nil {
		return nil, nil, pgerr.From(err).At(pos)
	}
	return args, m, nil
}
