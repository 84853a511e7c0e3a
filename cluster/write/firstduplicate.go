package write

import (
	"errors"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// firstDuplicate returns the error of the first new row, in their order, that has a key of the table's
// or of a row before it: the one that PostgreSQL, which looks keys up row by row, reports. refused is the
// error of some such row, which the checks found in the order that is fastest; it stays the error where
// the first is not found.
func firstDuplicate(r *Executor, rel *catalog.Relation, watched *keyWatch, segs []*catalog.Segment, old *catalog.Manifest, refused error) error {
	var e *pgerr.Error
	if watched == nil || watched.kind != plan.InsertRows || watched.conflict || !errors.As(refused, &e) || e.Code != pgerr.UniqueViolation {
		return refused
	}
	if len(segs) == 1 && segs[0].Rows == 1 {
		return atCopied(r, refused, segs, 0)
	}
	fresh := &catalog.Manifest{Table: rel.OID, Partitions: [][]*catalog.Segment{segs}}
	before := make([]int64, len(segs)) // rows, by segment
	for i := range segs[1:] {
		before[i+1] = before[i] + segs[i].Rows
	}
	first := int64(-1)
	for i := range rel.Constraints {
		c := &rel.Constraints[i]
		if !watched.claims(c) {
			continue
		}
		k, err := r.uniqueKey(rel, c)
		if err != nil {
			return refused
		}
		within, ws, wcols := k.repeated()
		reads := map[*plan.Scan]*catalog.Manifest{ws: fresh}
		plans := []plan.Node{within}
		if old != nil && old.Rows() > 0 {
			plans = append(plans, k.present(reads, fresh, old))
		}
		for _, root := range plans {
			rows, err := r.start(earliest(root), wcols, reads)
			if err != nil {
				return refused
			}
			row, err := First(r.x.Ctx, rows, wcols)
			if err != nil || row == nil {
				continue
			}
			id := row[len(row)-1].(int64)
			if at := before[id>>32] + int64(uint32(id)); first < 0 || at < first {
				first, refused = at, refusal(r, k, wcols[:len(wcols)-1], row[:len(row)-1])
			}
		}
	}
	return atCopied(r, refused, segs, first)
}

// atCopied adds to an error of a row of new segments, of a COPY, its line. Rows that were divided by
// their hash have lost their order.
func atCopied(r *Executor, refused error, segs []*catalog.Segment, row int64) error {
	if r.copied == nil || row < 0 || segs[0].Of > 0 {
		return refused
	}
	return r.copied.Line(refused, row)
}

// rowID is the column of new rows' addresses, as k.rows gives it.
var rowID = plan.Column{ID: idSpan - 1, Name: "rowid", Type: types.Int8}

// repeated gives the rows that have the key of a row before them.
func (k *uniqueKey) repeated() (plan.Node, *plan.Scan, []plan.Column) {
	in, sc, keys := k.rows(1, rowID)
	previous := plan.Column{ID: 2 * idSpan, Name: "previous", Type: types.Int8}
	win := &plan.Window{Input: in, OrderBy: []expr.Order{{Expr: colRef(rowID)}}, Items: []plan.WindowItem{{
		Col:   previous,
		Call:  expr.AggCall{Fn: rewrite.Function("lag", types.Int8OID), Args: []expr.Expr{colRef(rowID)}, Typ: types.Int8},
		Frame: plan.Frame{Mode: 'r', Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}},
	}}}
	for _, c := range keys {
		win.PartitionBy = append(win.PartitionBy, colRef(c))
	}
	return &plan.Filter{Input: win, Conds: []expr.Expr{&expr.IsNull{Arg: colRef(previous), Not: true}}}, sc, append(keys[:len(keys):len(keys)], rowID)
}

// present gives the new rows that have the key of a row of the table. The table is only probed, for it
// may be large.
func (k *uniqueKey) present(reads map[*plan.Scan]*catalog.Manifest, fresh, old *catalog.Manifest) plan.Node {
	in, is, mine := k.rows(1, rowID)
	there, ts, theirs := k.rows(1 + 2*idSpan)
	by, bs, keys := k.rows(1 + idSpan)
	reads[is], reads[ts], reads[bs] = fresh, old, fresh
	return k.among(in, mine, k.among(there, theirs, by, keys), theirs)
}

func earliest(in plan.Node) plan.Node {
	return &plan.Limit{Input: &plan.Sort{Input: in, Keys: []plan.SortKey{{Expr: colRef(rowID)}}, Limit: 1}, Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
}
