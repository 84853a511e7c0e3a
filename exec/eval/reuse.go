package eval

import (
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// A statement that comes again, for a few rows each time, may use programs that an earlier run has compiled: to compile
// them takes longer than to run them. Between two runs they keep neither rows nor memory of a statement.
//
//	CompileColumnsAgain ─▶ Eval … ─▶ Rest ─▶ (another statement) Rebind ─▶ Eval … ─▶ Rest

// forAny reports whether programs of expressions are the same for all runs of a statement.
func forAny(es []expr.Expr) bool {
	fixed := func(t types.Type) bool { return t.Form() >= vector.Bool && t.Form() <= vector.F64 }
	ok := true
	for _, e := range es {
		expr.Walk(e, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Col, *expr.Const, *expr.Param, *expr.Case, *expr.And, *expr.Or, *expr.Not, *expr.IsNull, *expr.Coalesce:
			case *expr.Call:
				_, _, member := memberOf(x)
				ok = ok && x.Fn.Vol == fn.Immutable && x.Fn.User == nil && !member
			case *expr.Cast:
				ok = ok && fixed(x.Typ) && fixed(x.Arg.Type())
			default:
				ok = false
			}
			return ok
		})
	}
	return ok
}

// CompileColumnsAgain is CompileColumns for programs that other runs of the statement may use, where that is possible
// (Rest).
func CompileColumnsAgain(es []expr.Expr, in []plan.Column, env *function.Env) ([]*Program, error) {
	c, mem := newCompiler(in, env), newScratch(env)
	c.again = forAny(es)
	ps, err := compileColumns(es, c, mem)
	mem.again, mem.resting = c.again, c.resting
	return ps, err
}

// Rest ends the use of programs that share their memory; again is whether another run may use them.
func Rest(ps []*Program) (again bool) {
	if len(ps) == 0 || !ps[0].mem.again {
		return false
	}
	for _, p := range ps {
		clear(p.fr.cols)
		p.env, p.fr = nil, frame{cols: p.fr.cols}
	}
	mem := ps[0].mem
	mem.b = nil
	clear(mem.share)
	restAll(mem.resting, &mem.a, &mem.m)
	return true
}

func restAll(list []resting, a *vector.Arena, m *vector.Meter) {
	for _, n := range list {
		n.rest()
	}
	a.Trim()
	m.End()
}

// Rebind gives programs that rest to a run.
func Rebind(ps []*Program, env *function.Env) {
	for _, p := range ps {
		p.env = env
	}
	ps[0].mem.m = env.NewMeter()
}

// CompileFilterAgain is CompileColumnsAgain of a filter.
func CompileFilterAgain(conds []expr.Expr, in []plan.Column, env *function.Env) (*Filter, error) {
	c := newCompiler(in, env)
	c.again = forAny(conds)
	f, err := compileFilter(conds, c)
	if err == nil {
		f.again, f.resting = c.again, c.resting
	}
	return f, err
}

// Rest is Rest of a filter.
func (f *Filter) Rest() (again bool) {
	if f.again {
		f.env = nil
		restAll(f.resting, &f.a, &f.m)
	}
	return f.again
}

// Rebind is Rebind of a filter.
func (f *Filter) Rebind(env *function.Env) { f.env, f.m = env, env.NewMeter() }
