package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// locking takes note of FOR UPDATE and its kin.
func (s *selecting) locking() error {
	b := s.sc.b
	for _, n := range items(s.sel.LockingClause) {
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
		case len(s.sc.lv.aggs) > 0:
			what = "aggregate functions"
		case len(s.sc.lv.wins) > 0:
			what = "window functions"
		case len(s.sc.lv.srfs) > 0:
			what = "set-returning functions in the target list"
		}
		if what != "" {
			return pgerr.Unsupported("%s is not allowed with %s", word, what)
		}
		var of []string
		for _, n := range items(l.LockedRels) {
			rv := n.(*ast.RangeVar)
			if rv.SchemaName != "" {
				return pgerr.New(pgerr.SyntaxError, "%s must specify unqualified relation names", word).At(b.posIdent(rv.RelName))
			}
			if !slices.ContainsFunc(s.sc.lv.rels, func(r *rel) bool { return r.name == rv.RelName }) {
				return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" in %s clause not found in FROM clause", rv.RelName, word).At(b.posIdent(rv.RelName))
			}
			of = append(of, rv.RelName)
		}
		for _, r := range s.sc.lv.rels {
			if len(of) > 0 && !slices.Contains(of, r.name) {
				continue
			}
			if r.nullable {
				return pgerr.Unsupported("%s cannot be applied to the nullable side of an outer join", word)
			}
			s.lock(r, l.Strength <= ast.LCS_FORSHARE)
		}
	}
	return nil
}

// lock locks an item of FROM: the rows of a table, or with what is no table
// itself all rows of the tables that the statement has read so far.
func (s *selecting) lock(r *rel, share bool) {
	b := s.sc.b
	b.lockUse(r)
	if r.table == nil || r.scan == nil {
		for _, u := range b.st.uses {
			if t := b.s.State.RelationByOID(u.OID); t != nil && t.Kind == catalog.KindTable {
				b.st.locks = append(b.st.locks, plan.Lock{Table: u.OID, Share: share})
			}
		}
		return
	}
	if r.scan.RowID == 0 {
		r.scan.RowID = b.newCol(s.sc.lv, "rowid", types.Int8).ID
	}
	s.locked = append(s.locked, lockedScan{r.scan, share})
}

// lockedScan is a table whose rows a query locks.
type lockedScan struct {
	scan  *plan.Scan
	share bool
}

// lockIDs emits the row ids of locked tables beside the query's columns.
func (s *selecting) lockIDs(pr *projector) {
	for _, l := range s.locked {
		c := pr.emit(&expr.Col{ID: l.scan.RowID, Typ: types.Int8, Name: "rowid"}, "rowid")
		s.sc.b.st.locks = append(s.sc.b.st.locks, plan.Lock{Table: l.scan.Table, Col: c.ID, Share: l.share})
	}
}

// locks gives a statement's locks. A query within others has lost its row ids on
// the way: it locks its tables whole.
func (b *binder) locks(root plan.Node) []plan.Lock {
	emitted := plan.Emits(root)
	for i := range b.st.locks {
		if l := &b.st.locks[i]; !emitted[l.Col] {
			l.Col = 0
		}
	}
	return b.st.locks
}
