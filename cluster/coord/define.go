package coord

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/ddl"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ddlEnv is what defining objects needs of the session.
func (s *Session) ddlEnv(ctx context.Context, st *catalog.State, stmt *parse.Statement) *ddl.Env {
	me := st.Role(s.role)
	return &ddl.Env{
		Bind:       s.planning(ctx, st, stmt, nil),
		Session:    s.engine.cfg.Node.ID<<20 | uint64(s.start.PID)&0xfffff,
		NewOID:     func() (types.OID, error) { return s.engine.newOID(ctx) },
		Partitions: catalog.DefaultPartitions,
		Super:      me != nil && me.Super,
		Password:   s.engine.cfg.Password,
	}
}

// ddl handles the statements that planner/ddl knows.
func (s *Session) ddl(ctx context.Context, stmt *parse.Statement) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		if err := s.writable(stmt.Tag()); err != nil {
			return "", err
		}
		st, err := x.view()
		if err != nil {
			return "", err
		}
		x.enter(st)
		res, err := ddl.Plan(s.ddlEnv(ctx, st, stmt), stmt)
		if err != nil {
			return "", err
		}
		return res.Tag, s.define(x, st, res)
	}), nil
}

// define carries out what planner/ddl found: new rows from the state before,
// the changes, then the checks over the state after.
func (s *Session) define(x *execution, st *catalog.State, res *ddl.Result) error {
	type rewritten struct {
		table types.OID
		segs  []*catalog.Segment
	}
	var news []rewritten
	after, err := s.tx.peek(res.Changes)
	if err != nil {
		return err
	}
	for _, rw := range res.Rewrites {
		r := s.newRun(x, st)
		var segs []*catalog.Segment
		q, err := r.bound(rw.SQL)
		if err == nil {
			var share int64
			if rw.Segments > 0 {
				share = max(1, st.Manifest(rw.Table).Rows()/int64(rw.Segments))
			}
			segs, _, err = r.fill(after.RelationByOID(rw.Table), q, share)
		}
		r.close()
		if err != nil {
			return err
		}
		if rw.Segments > 0 { // the large ones first, so that the small even out
			slices.SortStableFunc(segs, func(a, b *catalog.Segment) int { return cmp.Compare(b.Rows, a.Rows) })
		}
		news = append(news, rewritten{rw.Table, segs})
	}
	now, err := s.tx.add(res.Changes...)
	if err != nil {
		return err
	}
	for _, n := range news {
		if now, err = s.tx.add(&catalog.Truncate{Table: n.table}); err != nil {
			return err
		}
		if now, err = s.tx.add(place(now, now.RelationByOID(n.table), n.segs)...); err != nil {
			return err
		}
	}
	for _, c := range res.Checks {
		r := s.newRun(x, now)
		rows, cols, err := r.sql(c.SQL)
		if err != nil {
			r.close()
			return err
		}
		row, err := first(x.ctx, rows, cols)
		r.close()
		if err != nil {
			return err
		}
		if row != nil {
			e := *c.Err
			if c.Detail != nil {
				vals := make([]string, len(row))
				for i, d := range row {
					vals[i] = "null"
					if d != nil {
						vals[i] = string(types.AppendText(nil, cols[i].Type, d, s.env))
					}
				}
				e.Detail = c.Detail(vals)
			}
			return &e
		}
	}
	if res.TempSchema != 0 {
		old := s.temp
		s.temp = res.TempSchema
		s.tx.onRollback = append(s.tx.onRollback, func() { s.temp = old })
	}
	for _, n := range res.Notices {
		s.notice(n)
	}
	return nil
}

// peek gives the view with more changes, without keeping them.
func (t *txn) peek(changes []catalog.Change) (*catalog.State, error) {
	st, err := t.state()
	if err != nil {
		return nil, err
	}
	return st.Apply(changes)
}

// createTableAs handles CREATE TABLE AS and CREATE MATERIALIZED VIEW.
func (s *Session) createTableAs(ctx context.Context, stmt *parse.Statement, n *ast.CreateTableAsStmt, params []types.Type) (*handler, error) {
	q, ok := n.Query.(ast.Stmt)
	if !ok {
		return nil, pgerr.Unsupported("CREATE TABLE AS takes a query")
	}
	if e, ok := q.(*ast.ExecuteStmt); ok {
		p, err := s.Kept(e.Name)
		if err != nil {
			return nil, err
		}
		sel, ok := p.piece.node().(*ast.SelectStmt)
		if !ok {
			return nil, pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
		}
		h, err := s.tableAs(ctx, p.piece.stmt, sel, n.Into, n.ObjType == ast.OBJECT_MATVIEW, n.IfNotExists, p.h.params)
		if err != nil {
			return nil, err
		}
		return s.supplied(p.piece, h, e), nil
	}
	return s.tableAs(ctx, stmt, q, n.Into, n.ObjType == ast.OBJECT_MATVIEW, n.IfNotExists, params)
}

// selectInto handles SELECT … INTO table.
func (s *Session) selectInto(ctx context.Context, stmt *parse.Statement, n *ast.SelectStmt, params []types.Type) (*handler, error) {
	q := *n
	q.IntoClause = nil
	return s.tableAs(ctx, stmt, &q, n.IntoClause, false, false, params)
}

func (s *Session) tableAs(ctx context.Context, stmt *parse.Statement, q ast.Stmt, into *ast.IntoClause, mat, ifNot bool, params []types.Type) (*handler, error) {
	s.ensureTxn()
	st, err := s.tx.begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return nil, err
	}
	bound, err := bind.Query(s.planning(ctx, st, stmt, params), q)
	if err != nil {
		return nil, err
	}
	return &handler{params: bound.Params, open: func(ctx context.Context, x *execution) (*result, error) {
		if err := s.writable("CREATE TABLE AS"); err != nil {
			return nil, err
		}
		st, err := x.view()
		if err != nil {
			return nil, err
		}
		env := s.ddlEnv(ctx, st, stmt)
		env.Bind.ParamTypes = x.Context.ParamTypes
		bound, err := bind.Query(env.Bind, q)
		if err != nil {
			return nil, err
		}
		if err := plan.Authorize(st, s.role, bound.Tables); err != nil {
			return nil, err // also where the relation is there already, or WITH NO DATA
		}
		text := ""
		if mat {
			if text, err = parse.Keep(q); err != nil {
				return nil, err
			}
		}
		res, rel, skip, err := ddl.TableAs(env, into, bound.Cols, mat, text, bound.Tables, ifNot)
		if err != nil {
			return nil, err
		}
		tag := "CREATE TABLE AS"
		if mat {
			tag = "CREATE MATERIALIZED VIEW"
		}
		if skip {
			for _, m := range res.Notices {
				s.notice(m)
			}
			return done(tag), nil
		}
		var segs []*catalog.Segment
		var count int64
		if !into.SkipData {
			r := s.newRun(x, st)
			segs, count, err = r.fill(rel, bound, 0)
			r.close()
			if err != nil {
				return nil, err
			}
		}
		if err := s.define(x, st, res); err != nil {
			return nil, err
		}
		if len(segs) > 0 {
			if _, err := s.tx.add(place(s.tx.view, s.tx.view.RelationByOID(rel.OID), segs)...); err != nil {
				return nil, err
			}
		}
		if !into.SkipData {
			tag = fmt.Sprintf("SELECT %d", count)
		}
		return done(tag), nil
	}}, nil
}

func (s *Session) refreshMatView(n *ast.RefreshMatViewStmt) (*handler, error) {
	return simple(func(ctx context.Context, x *execution) (string, error) {
		st, err := x.view()
		if err != nil {
			return "", err
		}
		rel, err := s.findRelation(st, n.Relation)
		if err != nil {
			return "", err
		}
		if rel.Kind != catalog.KindMatView {
			return "", pgerr.New(pgerr.WrongObjectType, "%q is not a materialized view", rel.Name)
		}
		if !st.Inherits(s.role, rel.Owner) {
			return "", pgerr.New(pgerr.InsufficientPrivilege, "must be owner of materialized view %s", rel.Name)
		}
		up := rel.Clone()
		up.Populated = !n.SkipData
		changes := []catalog.Change{&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version}, &catalog.Truncate{Table: rel.OID}}
		var segs []*catalog.Segment
		if !n.SkipData {
			text, err := parseOne(rel.Query)
			if err != nil {
				return "", err
			}
			// The rows are those that the owner sees, whoever refreshes.
			owner := *x
			owner.Execution = x.In(x.Context.As(rel.Owner, &host{s: s}))
			q, err := bind.ViewQuery(s.engine.queries.Binding(owner.Context, st, text, query.Poll(x.ctx)), rel)
			if err != nil {
				return "", err
			}
			r := s.newRun(&owner, st)
			segs, _, err = r.fill(rel, q, 0)
			r.close()
			if err != nil {
				return "", err
			}
		}
		now, err := s.tx.add(changes...)
		if err != nil {
			return "", err
		}
		_, err = s.tx.add(place(now, now.RelationByOID(rel.OID), segs)...)
		return "REFRESH MATERIALIZED VIEW", err
	}), nil
}

// dropTempIn drops the session's temporary tables within a transaction.
func (s *Session) dropTempIn(ctx context.Context, t *txn) error {
	if s.temp == 0 {
		return nil
	}
	st, err := t.begin(ctx, s.engine.cfg.Meta)
	if err != nil {
		return err
	}
	var changes []catalog.Change
	for _, kind := range []catalog.RelKind{catalog.KindView, catalog.KindMatView, catalog.KindIndex, catalog.KindTable, catalog.KindSequence} {
		for _, r := range st.Relations() {
			if r.Schema == s.temp && r.Kind == kind {
				changes = append(changes, &catalog.DropRelation{OID: r.OID})
			}
		}
	}
	_, err = t.add(changes...)
	return err
}

// dropTemp drops the session's temporary tables and schema when it ends.
func (s *Session) dropTemp(ctx context.Context) error {
	if s.temp == 0 || s.engine.cfg.Meta.Current().Schema(s.temp) == nil {
		return nil
	}
	t := s.newTxn(false)
	if err := s.dropTempIn(ctx, t); err != nil {
		return err
	}
	if _, err := t.add(&catalog.DropSchema{OID: s.temp}); err != nil {
		return err
	}
	return s.engine.cfg.Meta.Commit(ctx, t.changes)
}

func dotted(name []string) string { return strings.Join(name, ".") }
