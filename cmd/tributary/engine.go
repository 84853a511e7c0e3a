package main

import (
	"context"

	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	wire "github.com/tributarydb/tributary/wire/session"
)

// This file adapts the engine to the wire protocol: neither imports the other.

type engine struct{ e *coord.Engine }

func (e engine) Authenticate(ctx context.Context, role string, fresh bool) (wire.Login, error) {
	l, err := e.e.Authenticate(ctx, role, fresh)
	return wire.Login(l), err
}

func (e engine) Connect(ctx context.Context, st wire.Startup) (wire.Session, error) {
	s, err := e.e.Connect(ctx, session.Startup{User: st.User, Database: st.Database, Params: st.Params, Remote: st.Remote, Local: st.Local, TLS: (*sysview.TLSRow)(st.TLS), Offered: st.Offered,
		PID: st.PID, Secret: st.Secret, Notify: st.Notify, Wake: st.Wake})
	if err != nil {
		return nil, err
	}
	return sess{s}, nil
}

func (e engine) Cancel(pid, secret uint32) { e.e.Cancel(pid, secret) }

type sess struct{ *session.Session }

func (s sess) Prepare(ctx context.Context, text *parse.Statement, oids []types.OID) (wire.Statement, error) {
	st, err := s.Session.Prepare(ctx, text, oids)
	if err != nil {
		return nil, err
	}
	return &stmt{Prepared: st}, nil
}

func (s sess) Keep(name string, st wire.Statement) error {
	own, ok := st.(*stmt)
	if !ok {
		return pgerr.Internal("a statement of another session")
	}
	return s.Session.StorePrepared(name, own.Prepared)
}

func (s sess) Kept(name string) (wire.Statement, error) {
	p, err := s.Session.LookupPrepared(name)
	if err != nil {
		return nil, err
	}
	return &stmt{Prepared: p}, nil
}

func (s sess) Cursor(name string) ([]wire.Column, bool) {
	cols, ok := s.Session.Cursor(name)
	return columns(cols), ok
}

type stmt struct {
	*session.Prepared
	columns columnCache
}

func (s *stmt) Columns() []wire.Column { return s.columns.as(s.Prepared.Columns()) }

func (s *stmt) Bind(ctx context.Context, params []types.Datum) (wire.Portal, error) {
	p, err := s.Prepared.Bind(ctx, params)
	if err != nil {
		return nil, err
	}
	return &portal{Portal: p}, nil
}

type portal struct {
	*session.Portal
	columns columnCache
}

func (p *portal) Columns() []wire.Column { return p.columns.as(p.Portal.Columns()) }

func (p *portal) Copy() wire.Copy {
	if c := p.Portal.Copy(); c != nil {
		return c
	}
	return nil
}

func (p *portal) Next(ctx context.Context) (*batch.Batch, error) { return p.Portal.Next(ctx) }

// columnCache caches columns in the wire's form, since the wire asks for them at each
// message.
type columnCache struct {
	of   []plan.Column
	cols []wire.Column
}

func (t *columnCache) as(of []plan.Column) []wire.Column {
	if t.cols == nil || len(of) == 0 || len(of) != len(t.of) || &of[0] != &t.of[0] {
		t.of, t.cols = of, columns(of)
	}
	return t.cols
}

func columns(cols []plan.Column) []wire.Column {
	if cols == nil {
		return nil
	}
	out := make([]wire.Column, len(cols))
	for i, c := range cols {
		out[i] = wire.Column{Name: c.Name, Type: c.Type, Table: c.Table, Num: c.Num}
	}
	return out
}
