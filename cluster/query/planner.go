package query

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/cluster/resource"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
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

// Planner plans and runs the queries of a node. Its methods may be called from any goroutine.
type Planner struct {
	Self    uint64 // this node
	Runner  Runner
	Virtual Virtuals
	Sources Sources
	Stores  *object.Stores
	Pool    *mem.Pool
	// Resources are the node's resource groups; nil for none.
	Resources *resource.Groups
	last      atomic.Uint64
	plans     plans
}

// Virtuals are the relations that are computed at the gateway: their columns, and their rows for a statement
// over a state of the catalog.
type Virtuals interface {
	bind.VirtualCatalog
	For(c *Caller, st *catalog.State) op.Virtuals
}

// Next returns a number that no statement or transaction of the node has.
func (p *Planner) Next() uint64 { return p.last.Add(1) }

// Binding returns what the binder needs for a caller's text. Positions of errors refer to text; it is nil
// if the SQL was made by the engine and has no positions that a user knows.
func (p *Planner) Binding(c *Caller, st *catalog.State, text *parse.Statement, poll plan.Poll) *bind.Session {
	s := &bind.Session{
		Names:   bind.Names{State: st, SearchPath: c.schemaNames(st), TempSchema: c.Temp, Role: c.Role},
		Dialect: c.Dialect,
		Fold: func(e expr.Expr) (types.Datum, error) {
			return eval.Constant(e, &function.Env{Types: c.Values, Params: c.Params, Host: c.Host})
		},
		HasParams:  c.Params != nil,
		ParamTypes: c.ParamTypes,
		Virtual:    p.Virtual,
		Sources:    sources(p.Sources, st, c, poll),
		Text:       text,
		Env:        c.Values,
		Poll:       poll,
	}
	if h, ok := c.Host.(Historian); ok {
		s.Past = func(at time.Time) (*catalog.State, error) {
			if _, err := NotFuture(at, time.Now()); err != nil {
				return nil, err
			}
			return h.Past(at)
		}
	}
	return s
}

// Historian is a host whose statements may read the past.
type Historian interface {
	// Past returns the state of a time, as it may be read now, and keeps what it needs for the transaction.
	Past(at time.Time) (*catalog.State, error)
}

// Poll returns the function by which planning notices that its statement was cancelled, has timed out or was
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
func (p *Planner) Model(c *Caller, st *catalog.State, name []string) (*catalog.Model, error) {
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

// KeepPlans turns on the cache of bound statements. It is called before the node accepts statements.
func (p *Planner) KeepPlans() { p.plans.begin(p.Pool) }

// Bind binds a text that returns rows or writes, for a caller over a state, or finds it in the cache.
func (p *Planner) Bind(c *Caller, st *catalog.State, text *parse.Statement, poll plan.Poll) (*planner.Bound, error) {
	size := planSize{pool: p.Pool}
	defer size.close() // what runs the statement charges for it anew
	if len(text.Text) > longText {
		s := p.Binding(c, st, text, poll)
		s.Grown = size.grown
		return planner.Bind(s, text.Node)
	}
	k := planKey{text: text.Text, params: paramKey(c.ParamTypes), meaning: c.meaning}
	if b := p.plans.find(k, st.Definitions()); b != nil {
		return b, nil
	}
	s := p.Binding(c, st, text, poll)
	s.Grown = size.grown
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
