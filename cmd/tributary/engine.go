package main

import (
	"context"

	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	wire "github.com/tributarydb/tributary/wire/session"
)

// This file joins the wire to the engine: the two know each other only here.

type engine struct{ e *coord.Engine }

func (e engine) Authenticate(ctx context.Context, role string, fresh bool) (wire.Login, error) {
	l, err := e.e.Authenticate(ctx, role, fresh)
	return wire.Login(l), err
}

func (e engine) Connect(ctx context.Context, st wire.Startup) (wire.Session, error) {
	s, err := e.e.Connect(ctx, session.Startup{User: st.User, Database: st.Database, Params: st.Params, Remote: st.Remote, Local: st.Local, TLS: st.TLS,
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
	return stmt{st}, nil
}

func (s sess) Keep(name string, st wire.Statement) error {
	own, ok := st.(stmt)
	if !ok {
		return pgerr.Internal("a statement of another session")
	}
	return s.Session.Keep(name, own.Prepared)
}

func (s sess) Kept(name string) (wire.Statement, error) {
	p, err := s.Session.Kept(name)
	if err != nil {
		return nil, err
	}
	return stmt{p}, nil
}

func (s sess) Cursor(name string) ([]wire.Column, bool) {
	cols, ok := s.Session.Cursor(name)
	return columns(cols), ok
}

type stmt struct{ *session.Prepared }

func (s stmt) Columns() []wire.Column { return columns(s.Prepared.Columns()) }

func (s stmt) Bind(ctx context.Context, params []types.Datum) (wire.Portal, error) {
	p, err := s.Prepared.Bind(ctx, params)
	if err != nil {
		return nil, err
	}
	return portal{p}, nil
}

type portal struct{ *session.Portal }

func (p portal) Columns() []wire.Column { return columns(p.Portal.Columns()) }

func (p portal) Copy() wire.Copy {
	if c := p.Portal.Copy(); c != nil {
		return c
	}
	return nil
}

func (p portal) Next(ctx context.Context) (*batch.Batch, error) { return p.Portal.Next(ctx) }

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
