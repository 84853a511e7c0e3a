package define

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/function/userfn"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/ddl"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Session is who defines something. All fields are required.
type Session struct {
	Key      uint64 // no other session of the cluster has it
	NewOID   func(context.Context) (types.OID, error)
	Password func(plain string) (string, error)
	Notice   func(*pgerr.Error)
	Temp     *types.OID // its schema for temporary tables, 0 until the first
}

// env is what planning a definition takes.
func (s *Session) env(x *write.Statement, st *catalog.State, text *parse.Statement, params []types.Type) *ddl.Env {
	super := st.Super(x.Caller.Role)
	return &ddl.Env{
		Bind:         x.Binding(x.Ctx, st, text, params),
		Session:      s.Key,
		SessionUser:  x.Caller.SessionUser,
		NewOID:       func() (types.OID, error) { return s.NewOID(x.Ctx) },
		Partitions:   catalog.DefaultPartitions,
		Super:        super,
		Setting:      func(name, value string) error { return settings.ForRole(name, value, super) },
		ResetSetting: func(name string) error { return settings.Removable(name, super) },
		Password:     s.Password,
		CheckBody:    userfn.Check,
		CheckBodies:  on(x.Caller.Host, "check_function_bodies"),
	}
}

// on reports whether a setting of a session is on.
func on(h query.Host, name string) bool {
	if h == nil {
		return true
	}
	v, ok := h.Setting(name)
	return !ok || v == "on"
}

// Run carries out a statement that planner/ddl knows, over a view.
func (s *Session) Run(x *write.Statement, st *catalog.State) (tag string, err error) {
	x.Enter(st)
	env := s.env(x, st, x.Text, nil)
	env.Bind.Past = nil // what is defined is to last
	res, err := ddl.Plan(env, x.Text)
	if err != nil {
		return "", err
	}
	return res.Tag, s.apply(x, st, res)
}

// apply carries out what planner/ddl found: new rows from the state before,
// the changes, then the checks over the state after.
func (s *Session) apply(x *write.Statement, st *catalog.State, res *ddl.Result) error {
	changes, rw := res.Changes, res.Rewrite
	var segs []*catalog.Segment
	if rw != nil {
		after, err := x.Txn.Peek(changes)
		if err != nil {
			return err
		}
		before, err := x.Txn.Add(changes[:rw.After]...)
		if err != nil {
			return err
		}
		changes = changes[rw.After:]
		if segs, err = rewrite(x, before, after, rw); err != nil {
			return err
		}
	}
	now, err := x.Txn.Add(changes...)
	if err != nil {
		return err
	}
	if rw != nil {
		if now, err = x.Txn.Add(&catalog.Truncate{Table: rw.Table}); err != nil {
			return err
		}
		if now, err = x.Txn.Add(write.Append(now, now.RelationByOID(rw.Table), segs)...); err != nil {
			return err
		}
	}
	for _, c := range res.Checks {
		if res.Tag == "CREATE INDEX" {
			p := &sysview.Progress{Of: "create_index", Command: "CREATE INDEX", Relation: c.Table}
			if m := now.Manifest(c.Table); m != nil {
				p.OfRows.Store(m.Rows())
			}
			x.Report(p.Enter("building index: scanning table"))
		}
		if err := x.Validate(now, c); err != nil {
			return err
		}
	}
	if res.TempSchema != 0 {
		old := *s.Temp
		*s.Temp = res.TempSchema
		x.Txn.OnRollback(func() { *s.Temp = old })
	}
	if res.DropAtCommit != 0 {
		x.Txn.DropAtCommit(res.DropAtCommit)
	}
	for _, n := range res.Notices {
		s.Notice(n)
	}
	return nil
}

// rewrite makes the new rows of a table.
func rewrite(x *write.Statement, before, after *catalog.State, rw *ddl.Rewrite) ([]*catalog.Segment, error) {
	r := x.Open(before)
	defer r.Close()
	var share int64
	if rw.Segments > 0 {
		share = max(1, before.Manifest(rw.Table).Rows()/int64(rw.Segments))
	}
	rel := after.RelationByOID(rw.Table)
	segs, _, err := r.Into(rel, rw.Query, share)
	if rw.Segments > 0 { // the large ones first, so that the small even out
		slices.SortStableFunc(segs, func(a, b *catalog.Segment) int { return cmp.Compare(b.Rows, a.Rows) })
	}
	if e := pgerr.From(err); err != nil && e.Code == pgerr.NotNullViolation && e.Column != "" {
		err = write.HasNulls(after, rel, e.Column)
	}
	return segs, err
}

// TableAs is CREATE TABLE AS, SELECT … INTO or CREATE MATERIALIZED VIEW.
type TableAs struct {
	Query        ast.Stmt
	Into         *ast.IntoClause
	Materialized bool
	IfNotExists  bool
}

// TableAs carries a statement out over a view; text is what the query is part of.
func (s *Session) TableAs(x *write.Statement, st *catalog.State, text *parse.Statement, n *TableAs) (tag string, err error) {
	env := s.env(x, st, text, x.Caller.ParamTypes)
	if n.Materialized {
		env.Bind.Past = nil // it is to be refreshed
	}
	bound, err := bind.Query(env.Bind, n.Query)
	if err != nil {
		return "", err
	}
	over := env.Bind.State
	env.Bind.State = st
	if err := plan.Authorize(over, x.Caller.Role, bound.Tables); err != nil {
		return "", err // also where the relation is there already, or WITH NO DATA
	}
	tag, query := "CREATE TABLE AS", ""
	if n.Materialized {
		tag = "CREATE MATERIALIZED VIEW"
		if query, err = parse.Keep(n.Query); err != nil {
			return "", err
		}
	}
	res, rel, skip, err := ddl.TableAs(env, n.Into, bound.Cols, n.Materialized, query, bound.Tables, n.IfNotExists)
	if err != nil {
		return "", err
	}
	if skip {
		for _, m := range res.Notices {
			s.Notice(m)
		}
		return tag, nil
	}
	var segs []*catalog.Segment
	if !n.Into.SkipData {
		var count int64
		r := x.Open(over)
		segs, count, err = r.Into(rel, bound, 0)
		r.Close()
		if err != nil {
			return "", err
		}
		tag = fmt.Sprintf("SELECT %d", count)
	}
	if err := s.apply(x, st, res); err != nil {
		return "", err
	}
	return tag, add(x.Txn, rel.OID, segs)
}

// add adds rows to a table.
func add(t *write.Txn, table types.OID, segs []*catalog.Segment) error {
	if len(segs) == 0 {
		return nil
	}
	st, err := t.State()
	if err != nil {
		return err
	}
	_, err = t.Add(write.Append(st, st.RelationByOID(table), segs)...)
	return err
}

// Refresh carries out REFRESH MATERIALIZED VIEW.
func Refresh(x *write.Statement, st *catalog.State, n *ast.RefreshMatViewStmt) error {
	rel, err := x.Relation(st, n.Relation)
	if err != nil {
		return err
	}
	if rel.Kind != catalog.KindMatView {
		return pgerr.Unsupported("%q is not a materialized view", rel.Name)
	}
	if !st.Inherits(x.Caller.Role, rel.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of materialized view %s", rel.Name)
	}
	up := rel.Clone()
	up.Populated = !n.SkipData
	var segs []*catalog.Segment
	if !n.SkipData {
		text, err := parse.One(rel.Query, parse.Postgres)
		if err != nil {
			return err
		}
		// The rows are those that the owner sees, whoever refreshes.
		owner := x.As(rel.Owner)
		q, err := bind.ViewQuery(owner.Binding(x.Ctx, st, text, nil), rel)
		if err != nil {
			return err
		}
		r := owner.Open(st)
		segs, _, err = r.Into(rel, q, 0)
		r.Close()
		if err != nil {
			return err
		}
	}
	if _, err := x.Txn.Add(&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version}, &catalog.Truncate{Table: rel.OID}); err != nil {
		return err
	}
	return add(x.Txn, rel.OID, segs)
}

// DropAtCommit drops what was made for the transaction alone.
func DropAtCommit(t *txn.Txn) error {
	for _, oid := range t.ShortLived() {
		st, err := t.State()
		if err != nil {
			return err
		}
		if rel := st.RelationByOID(oid); rel != nil {
			changes, err := ddl.DropTable(st, rel)
			if err == nil {
				_, err = t.Add(changes...)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// DropTemp drops the relations of a session's schema for temporary tables, within a
// transaction.
func DropTemp(ctx context.Context, t *txn.Txn, c txn.Catalog, temp types.OID) error {
	if temp == 0 {
		return nil
	}
	st, err := t.Begin(ctx, c)
	if err != nil {
		return err
	}
	var changes []catalog.Change
	for _, kind := range []catalog.RelKind{catalog.KindView, catalog.KindMatView, catalog.KindIndex, catalog.KindTable, catalog.KindSequence} {
		for _, r := range st.Relations() {
			if r.Schema == temp && r.Kind == kind {
				changes = append(changes, &catalog.DropRelation{OID: r.OID})
			}
		}
	}
	_, err = t.Add(changes...)
	return err
}
