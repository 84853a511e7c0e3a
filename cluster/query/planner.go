package query

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Planner is what a node plans and runs queries with. Its methods may be called
// from any goroutine.
type Planner struct {
	Self    uint64 // this node
	Runner  Runner
	Virtual Virtuals
	Sources Sources
	Pool    *mem.Pool
	last    atomic.Uint64
	plans   plans
}

// Virtuals gives the relations that are computed at the gateway: their shapes,
// and their rows for a statement over a view of the catalog.
type Virtuals interface {
	bind.VirtualCatalog
	For(c *Context, st *catalog.State) op.Virtuals
}

// Next returns a number that no statement or transaction of the node has.
func (p *Planner) Next() uint64 { return p.last.Add(1) }

// Binding is what binding a text in a context takes. It is text's that positions
// of errors are of, nil for a text that nobody wrote.
func (p *Planner) Binding(c *Context, st *catalog.State, text *parse.Statement, poll plan.Poll) *bind.Session {
	return &bind.Session{
		Names:   bind.Names{State: st, SearchPath: c.schemaNames(st), TempSchema: c.Temp, Role: c.Role},
		Dialect: c.Dialect,
		Fold: func(e expr.Expr) (types.Datum, error) {
			return eval.Constant(e, &function.Env{Types: c.Values, Host: c.Host})
		},
		ParamTypes: c.ParamTypes,
		Virtual:    p.Virtual,
		Sources:    sources(p.Sources, st, c),
		Text:       text,
		Env:        c.Values,
		Poll:       poll,
	}
}

// Poll is how planning learns that its statement was cancelled, timed out or
// terminated.
func Poll(ctx context.Context) plan.Poll {
	return func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

// Model finds a model as a statement names it.
func (p *Planner) Model(c *Context, st *catalog.State, name []string) (*catalog.Model, error) {
	schema, last, err := catalog.ObjectName(name...)
	if err != nil {
		return nil, err
	}
	if schema != "" {
		if err := p.Binding(c, st, nil, nil).MayLookIn(schema); err != nil {
			return nil, err
		}
		if sc := st.SchemaByName(schema); sc != nil {
			if m := st.Model(sc.OID, last); m != nil {
				return m, nil
			}
		}
	} else {
		for _, sc := range c.Schemas(st) {
			if m := st.Model(sc.OID, last); m != nil {
				return m, nil
			}
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "model \"%s\" does not exist", strings.Join(name, "."))
}

// KeepPlans begins to keep what was bound. It is called before the node works.
func (p *Planner) KeepPlans() { p.plans.begin(p.Pool) }

// Bind binds a text that gives rows or writes, in a context over a state; or finds
// what was bound before.
func (p *Planner) Bind(c *Context, st *catalog.State, text *parse.Statement, poll plan.Poll) (*planner.Bound, error) {
	if len(text.Text) > longText {
		return planner.Bind(p.Binding(c, st, text, poll), text.Node)
	}
	k := planKey{text: text.Text, params: paramKey(c.ParamTypes), meaning: c.meaning}
	if b := p.plans.find(k, st.Definitions()); b != nil {
		return b, nil
	}
	s := p.Binding(c, st, text, poll)
	env, moment := *s.Env, false
	env.ReadNow = func() { moment = true }
	s.Env = &env
	b, err := planner.Bind(s, text.Node)
	if err != nil {
		return nil, err
	}
	if !moment && b.Lasting() {
		p.plans.keep(k, st.Definitions(), b)
	}
	return b, nil
}
