package query

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// locking records FOR UPDATE, FOR SHARE and the like.
func (s *selectBinder) locking() error {
	b := s.sc.Binder
	for _, n := range typing.Items(s.sel.LockingClause) {
		l := n.(*ast.LockingClause)
		word := map[ast.LockClauseStrength]string{ast.LCS_FORKEYSHARE: "FOR KEY SHARE", ast.LCS_FORSHARE: "FOR SHARE",
			ast.LCS_FORNOKEYUPDATE: "FOR NO KEY UPDATE", ast.LCS_FORUPDATE: "FOR UPDATE"}[l.Strength]
		what := ""
		switch {
		case s.sel.DistinctClause != nil:
			what = "DISTINCT clause"
		case s.grouped && s.sel.GroupClause != nil:
			what = "GROUP BY clause"
		case s.sel.HavingClause != nil:
			what = "HAVING clause"
		case len(s.sc.Level.Aggs) > 0:
			what = "aggregate functions"
		case len(s.sc.Level.WindowCalls) > 0:
			what = "window functions"
		case len(s.sc.Level.SetCalls) > 0:
			what = "set-returning functions in the target list"
		}
		if what != "" {
			return pgerr.Unsupported("%s is not allowed with %s", word, what)
		}
		var of []string
		for _, n := range typing.Items(l.LockedRels) {
			rv := n.(*ast.RangeVar)
			if rv.SchemaName != "" {
				return pgerr.New(pgerr.SyntaxError, "%s must specify unqualified relation names", word).At(b.PosIdent(rv.RelName))
			}
			if !slices.ContainsFunc(s.sc.Level.Items, func(r *scope.Item) bool { return r.Name == rv.RelName }) {
				return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" in %s clause not found in FROM clause", rv.RelName, word).At(b.PosIdent(rv.RelName))
			}
			of = append(of, rv.RelName)
		}
		for _, r := range s.sc.Level.Items {
			if len(of) > 0 && !slices.Contains(of, r.Name) {
				continue
			}
			if r.Nullable {
				return pgerr.Unsupported("%s cannot be applied to the nullable side of an outer join", word)
			}
			if past := func(oid types.OID) bool { return oid >= catalog.PastOID }; r.Table != nil && past(r.Table.OID) ||
				r.Scan == nil && slices.ContainsFunc(b.Stmt.Uses, func(u scope.Use) bool { return past(u.OID) }) {
				return pgerr.Unsupported("%s cannot be applied to a table of the past", word)
			}
			s.lock(r, plan.Lock{Share: l.Strength <= ast.LCS_FORSHARE, Skip: l.WaitPolicy == ast.LockWaitSkip, NoWait: l.WaitPolicy == ast.LockWaitError})
		}
	}
	return nil
}

// lock locks an item of FROM: the rows of a table, or for other items all rows of the tables that
// the statement has read so far.
func (s *selectBinder) lock(r *scope.Item, how plan.Lock) {
	b := s.sc.Binder
	b.LockUse(r)
	if r.Table == nil || r.Scan == nil {
		for _, u := range b.Stmt.Uses {
			if t := b.Session.State.RelationByOID(u.OID); t != nil && t.Kind == catalog.KindTable {
				b.Stmt.Locks = append(b.Stmt.Locks, plan.Lock{Table: u.OID, Share: how.Share})
			}
		}
		return
	}
	if r.Scan.RowID == 0 {
		r.Scan.RowID = b.NewCol(s.sc.Level, "rowid", types.Int8).ID
	}
	s.locked = append(s.locked, lockedScan{r.Scan, how})
}

// lockedScan is a table whose rows a query locks.
type lockedScan struct {
	scan *plan.Scan
	how  plan.Lock
}

// lockIDs emits the row ids of locked tables beside the query's columns.
func (s *selectBinder) lockIDs(pr *Projector) {
	for _, l := range s.locked {
		c := pr.Emit(&expr.Col{ID: l.scan.RowID, Typ: types.Int8, Name: "rowid"}, "rowid")
		s.sc.Binder.Stmt.Locks = append(s.sc.Binder.Stmt.Locks, plan.Lock{Table: l.scan.Table, Col: c.ID, Share: l.how.Share, Skip: l.how.Skip, NoWait: l.how.NoWait})
	}
}

// Locks returns the statement's locks on rows that it returns. Nested queries that are computed for each row
// of an outer query lock whole tables.
func Locks(b *scope.Binder, root plan.Node) []plan.Lock {
	emitted := plan.Emits(root)
	for i := range b.Stmt.Locks {
		if l := &b.Stmt.Locks[i]; !emitted[l.Col] {
			l.Col = 0
		}
	}
	return b.Stmt.Locks
}

// lockFirst has a nested query's rows read and locked before the statement that reads them: so a queue's
// workers DELETE … WHERE id = (SELECT … FOR UPDATE SKIP LOCKED LIMIT 1). locks are where its own begin.
func (s *selectBinder) lockFirst(r *scope.Query, locks int) {
	b := s.sc.Binder
	if s.sel == b.Stmt.Top || len(s.locked) == 0 || len(b.Stmt.OuterCols(r.Node)) > 0 || readsOpen(s.sc, r.Node) {
		return
	}
	def := plan.BufferDef{ID: newBuffer(b), Name: "locked", Root: r.Node, Cols: r.Columns(), Whole: true, Limit: -1}
	def.Locks, b.Stmt.Locks = slices.Clone(b.Stmt.Locks[locks:]), b.Stmt.Locks[:locks]
	leaves := false
	for _, l := range def.Locks {
		leaves = leaves || l.Skip
		def.Cols = append(def.Cols, plan.Column{ID: l.Col, Name: "rowid", Type: types.Int8})
	}
	if l, ok := r.Node.(*plan.Limit); ok && leaves && !l.Ties && l.Offset == nil {
		if n, ok := l.Count.(*expr.Const); ok && n.Val != nil {
			def.Limit = n.Val.(int64)
			more := *l
			more.Count = &expr.Const{Val: def.Limit + plan.Skipped, Typ: n.Typ}
			def.Root = &more
		}
	}
	b.Stmt.Buffers = append(b.Stmt.Buffers, def)
	read := &plan.Buffer{ID: def.ID, Name: def.Name}
	for _, c := range def.Cols {
		read.Cols = append(read.Cols, b.NewCol(s.sc.Level, c.Name, c.Type))
	}
	r.Node = read
	for i := range r.Out {
		o := &r.Out[i]
		o.ID = read.Cols[i].ID
	}
}
