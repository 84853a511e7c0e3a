package scope

import (
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// newMachine makes the state machine of an aggregate of a user for a call with these arguments, whose result has
// type ret. Its functions become expressions as they would in a query, SQL ones their text.
func newMachine(sc *Scope, f *fn.Func, args []expr.Expr, ret types.Type, pos typing.Position) (*expr.Machine, error) {
	b, a := sc.Binder, f.User.Aggregate
	lv := &Level{}
	col := func(t types.Type) *expr.Col {
		c := b.NewCol(lv, "", t)
		delete(b.Stmt.Owner, c.ID) // no query has it
		return Col(c)
	}
	// The type of the state follows from the arguments as that of a result would.
	of := *f
	of.Ret = a.State.OID
	_, state, err := b.Arguments(&of, f.Args, args, pos)
	if err != nil {
		return nil, err
	}
	state = typing.PlainNumeric(typing.Result(&b.Resolver, state))
	m := &expr.Machine{State: col(state), Other: col(state)}
	in := []expr.Expr{m.State}
	for _, x := range args {
		c := col(x.Type())
		m.Args, in = append(m.Args, c), append(in, c)
	}
	become := func(e expr.Expr, t types.Type) (expr.Expr, error) {
		e, err := b.Coerce(e, t, fn.ExplicitCast, typing.Position{})
		if err != nil {
			return nil, err
		}
		return b.AsPhysical(e, t), nil
	}
	call := func(oid types.OID, in []expr.Expr, t types.Type) (*fn.Func, expr.Expr, error) {
		g := fn.ByOID(oid)
		if g == nil {
			u := b.State.Function(oid)
			if u == nil {
				return nil, nil, pgerr.New(pgerr.UndefinedFunction, "function with OID %d does not exist", oid)
			}
			g = fn.Of(u)
			b.Note(oid, 0, 'X', f.User.Owner, false)
		}
		e, err := called(&Scope{Binder: b, Level: lv}, g, in, pos)
		if err == nil {
			e, err = become(e, t)
		}
		return g, e, err
	}
	if a.Init != nil {
		e, err := become(&expr.Const{Val: *a.Init, Typ: types.Type{OID: types.UnknownOID, Mod: -1}}, state)
		if err != nil {
			return nil, err
		}
		c, ok := e.(*expr.Const)
		if !ok {
			return nil, pgerr.Unsupported("an initial value of type %s is not supported", b.TypeName(state)).At(pos.At())
		}
		m.Init = c.Val
	}
	next, e, err := call(a.Next, in, state)
	if err != nil {
		return nil, err
	}
	if m.Next, m.Strict = e, next.Strict; m.Strict && m.Init == nil {
		if len(args) == 0 {
			return nil, pgerr.New(pgerr.InvalidFunctionDefinition, "aggregate %s needs to have compatible input type and transition type", f.User.Name)
		}
		if m.First, err = become(m.Args[0], state); err != nil {
			return nil, err
		}
	}
	for _, x := range args { // values without an order
		_, lacks := b.Lacks("<", x.Type())
		m.Arrival = m.Arrival || lacks
	}
	if a.Combine != 0 {
		g, e, err := call(a.Combine, []expr.Expr{m.State, m.Other}, state)
		if err != nil {
			return nil, err
		}
		if m.Combine = e; g.Strict { // NULL adds nothing
			m.Combine = &expr.Case{Typ: state, Else: e, Whens: []expr.When{
				{Cond: &expr.IsNull{Arg: m.Other}, Then: m.State}, {Cond: &expr.IsNull{Arg: m.State}, Then: m.Other}}}
		}
	}
	if a.Final == 0 {
		m.Final, err = become(m.State, ret)
		return m, err
	}
	from := []expr.Expr{m.State}
	if a.FinalExtra {
		for _, c := range m.Args {
			from = append(from, &expr.Const{Typ: c.Typ})
		}
	}
	_, m.Final, err = call(a.Final, from, ret)
	return m, err
}

// called is a call of a function by arguments of its types.
func called(sc *Scope, f *fn.Func, args []expr.Expr, pos typing.Position) (expr.Expr, error) {
	b := sc.Binder
	args, ret, err := b.Arguments(f, f.Args, args, pos)
	if err != nil {
		return nil, err
	}
	if f.User == nil || f.User.Language != catalog.LanguageSQL {
		return &expr.Call{Fn: f, Args: args, Typ: ret}, nil
	}
	e, err := b.Stmt.Nested.Function(sc, f, args, typing.Result(&b.Resolver, ret), Place{Name: "aggregates"})
	if err == nil && HasSubquery(e) {
		return nil, pgerr.Unsupported("the aggregate function's %s is a query and not an expression, which is not supported", f.Name).At(pos.At())
	}
	return e, err
}

// Arranged notes which aggregates of users take their rows in the order of the input.
func Arranged(in plan.Node, aggs []plan.AggItem) {
	for {
		switch n := in.(type) {
		case *plan.Sort:
			for i := range aggs {
				if m := aggs[i].Call.Machine; m != nil {
					m.Arrival = m.Arrival || len(aggs[i].Call.OrderBy) == 0
				}
			}
			return
		case *plan.Project, *plan.Filter, *plan.Limit:
			in = n.Children()[0]
		default:
			return
		}
	}
}
