package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// Format prints a plan, one node a line, inputs indented below. Columns are
// written name#id, so that goldens show which column is meant.
func Format(n Node) string {
	p := &printer{ids: true}
	p.node(n, 0)
	return p.b.String()
}

// FormatQuery prints a query with its buffers and output.
func FormatQuery(q *Query) string {
	p := &printer{ids: true}
	p.buffers(q.Buffers)
	p.line(0, "Output "+p.cols(q.Cols))
	p.node(q.Root, 1)
	return p.b.String()
}

// FormatDML prints a DML statement.
func FormatDML(d *DML) string {
	p := &printer{ids: true}
	p.buffers(d.Buffers)
	p.dml(d, 0)
	return p.b.String()
}

// ExprString prints an expression in SQL; with ids columns are name#id.
func ExprString(e expr.Expr, ids bool) string {
	p := &printer{ids: ids}
	return p.expr(e)
}

// AggString prints an aggregate or window call.
func AggString(c expr.AggCall, ids bool) string {
	p := &printer{ids: ids}
	return p.agg(c)
}

// KeysString prints sort keys.
func KeysString(ks []expr.Order, ids bool) string {
	p := &printer{ids: ids}
	return p.keys(ks)
}

type printer struct {
	b   strings.Builder
	ids bool
}

func (p *printer) line(depth int, s string) {
	p.b.WriteString(strings.Repeat("  ", depth))
	p.b.WriteString(strings.TrimRight(s, " "))
	p.b.WriteByte('\n')
}

func (p *printer) buffers(list []BufferDef) {
	for _, d := range list {
		p.line(0, fmt.Sprintf("Buffer %d %s %s", d.ID, d.Name, p.cols(d.Cols)))
		if d.DML != nil {
			p.dml(d.DML, 1)
		} else {
			p.node(d.Root, 1)
		}
	}
}

func (p *printer) id(id expr.ColID) string { return "#" + strconv.Itoa(int(id)) }

func (p *printer) col(c Column) string {
	s := c.Name + p.id(c.ID) + ":" + typeName(c.Type)
	return s
}

// typeName shows how numerics are carried: numeric is variable, fixed(p,s) not.
func typeName(t types.Type) string {
	if t.IsFixed() && t.Mod < 0 {
		return fmt.Sprintf("fixed(%d,%d)", t.Prec, t.Scale)
	}
	if t.OID >= types.FirstUserOID {
		return "type" + strconv.Itoa(int(t.OID))
	}
	return t.String()
}

func (p *printer) cols(cs []Column) string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = p.col(c)
	}
	return "[" + strings.Join(out, " ") + "]"
}

var joinNames = map[JoinKind]string{Inner: "Inner", Left: "Left", Right: "Right", Full: "Full", Semi: "Semi", Anti: "Anti",
	AntiNull: "AntiNull", Mark: "Mark", Single: "Single", RightSemi: "RightSemi", RightAnti: "RightAnti"}

func joinName(k JoinKind) string {
	if s, ok := joinNames[k]; ok {
		return s
	}
	return "Join" + strconv.Itoa(int(k))
}

func (p *printer) filter(fs []expr.Expr) string {
	if len(fs) == 0 {
		return ""
	}
	return " where " + p.list(fs, " and ")
}

// node prints n and what is below it.
func (p *printer) node(n Node, d int) {
	switch n := n.(type) {
	case *Scan:
		s := "Scan " + n.Name
		if n.Alias != "" && n.Alias != n.Name {
			s += " " + n.Alias
		}
		s += " " + p.cols(n.Cols)
		if n.RowID != 0 {
			s += " rowid" + p.id(n.RowID)
		}
		p.line(d, s+p.filter(n.Filter))
	case *Values:
		rows := make([]string, len(n.Rows))
		for i, r := range n.Rows {
			rows[i] = "(" + p.list(r, ", ") + ")"
		}
		p.line(d, "Values "+p.cols(n.Cols)+" "+strings.Join(rows, " "))
	case *Virtual:
		p.line(d, fmt.Sprintf("Virtual %s.%s%s %s%s", n.Schema_, n.Name, datums(n.Args), p.cols(n.Cols), p.filter(n.Filter)))
	case *Source:
		args := make([]string, len(n.Args))
		for i, a := range n.Args {
			args[i] = types.TextOf(a.Type, a.Val, nil)
			if a.Name != "" {
				args[i] = a.Name + " => " + args[i]
			}
		}
		p.line(d, fmt.Sprintf("Source %s(%s) %s%s", n.Name, strings.Join(args, ", "), p.cols(n.Cols), p.filter(n.Filter)))
	case *FuncScan:
		p.line(d, "FuncScan "+p.calls(n.Calls)+p.ordinality(n.Ordinality))
	case *Buffer:
		p.line(d, fmt.Sprintf("Buffer %d %s %s", n.ID, n.Name, p.cols(n.Cols)))
	case *Receive:
		p.line(d, fmt.Sprintf("Receive %d %s", n.From, p.cols(n.Cols)))
	case *Filter:
		p.line(d, "Filter "+p.list(n.Conds, " and "))
	case *Project:
		p.line(d, "Project "+p.items(n.Items))
	case *ProjectSet:
		s := "ProjectSet "
		if n.Outer {
			s += "outer "
		}
		p.line(d, s+p.calls(n.Calls)+p.ordinality(n.Ordinality))
	case *Aggregate:
		p.line(d, p.aggregate(n))
	case *Window:
		its := make([]string, len(n.Items))
		for i, w := range n.Items {
			its[i] = p.col(w.Col) + "=" + p.agg(w.Call) + p.frame(w.Frame)
		}
		s := "Window " + strings.Join(its, ", ")
		if len(n.PartitionBy) > 0 {
			s += " partition by " + p.list(n.PartitionBy, ", ")
		}
		if len(n.OrderBy) > 0 {
			s += " order by " + p.keys(n.OrderBy)
		}
		p.line(d, s)
	case *Sort:
		s := "Sort " + p.keys(n.Keys)
		if n.Limit >= 0 {
			s += fmt.Sprintf(" limit %d", n.Limit)
		}
		p.line(d, s)
	case *Limit:
		s := "Limit"
		if n.Count != nil {
			s += " " + p.expr(n.Count)
		}
		if n.Offset != nil {
			s += " offset " + p.expr(n.Offset)
		}
		if n.Ties {
			s += " with ties " + p.keys(n.Keys)
		}
		p.line(d, s)
	case *DistinctOn:
		s := "DistinctOn " + p.list(n.Keys, ", ")
		if len(n.Order) > 0 {
			s += " order by " + p.keys(n.Order)
		}
		p.line(d, s)
	case *Max1Row:
		p.line(d, "Max1Row")
	case *Join:
		s := joinName(n.Kind) + " Join"
		if len(n.On) > 0 {
			s += " on " + p.list(n.On, " and ")
		}
		if len(n.LKeys) > 0 {
			s += " keys " + p.list(n.LKeys, ", ") + " = " + p.list(n.RKeys, ", ")
		}
		if len(n.Residual) > 0 {
			s += " residual " + p.list(n.Residual, " and ")
		}
		if n.Kind == Mark {
			s += " mark " + p.id(n.MarkCol)
		}
		if n.Broadcast {
			s += " broadcast"
		}
		p.line(d, s)
	case *Apply:
		s := joinName(n.Kind) + " Apply"
		if len(n.On) > 0 {
			s += " on " + p.list(n.On, " and ")
		}
		p.line(d, s)
	case *SetOp:
		s := [...]string{"Union", "Intersect", "Except"}[n.Kind]
		if n.All {
			s += " All"
		}
		p.line(d, s+" "+p.cols(n.Cols))
	case *RecursiveUnion:
		s := fmt.Sprintf("RecursiveUnion %d", n.ID)
		if n.All {
			s += " All"
		}
		p.line(d, s+" "+p.cols(n.Cols))
	case *TableWrite:
		p.line(d, "TableWrite "+n.Table.Name)
	case *Collect:
		p.line(d, "Collect")
	case *Exchange:
		s := "Exchange " + [...]string{"Gather", "HashBy", "Broadcast", "Spread"}[n.Kind]
		if len(n.Keys) > 0 {
			s += " " + p.list(n.Keys, ", ")
		}
		if len(n.Merge) > 0 {
			s += " merge " + p.keys(n.Merge)
		}
		p.line(d, s)
	default:
		p.line(d, fmt.Sprintf("%T", n))
	}
	p.subqueries(Exprs(n), d+1)
	for _, c := range n.Children() {
		p.node(c, d+1)
	}
}

// subqueries prints the plans that expressions hold, below their node.
func (p *printer) subqueries(es []expr.Expr, d int) {
	for _, e := range es {
		expr.Walk(e, func(x expr.Expr) bool {
			if s, ok := x.(*expr.Subquery); ok {
				p.line(d, "Subquery "+p.subCols(s))
				if n, ok := s.Plan.(Node); ok {
					p.node(n, d+1)
				}
			}
			return true
		})
	}
}

func (p *printer) subCols(s *expr.Subquery) string {
	out := make([]string, len(s.Cols))
	for i, c := range s.Cols {
		out[i] = p.id(c)
	}
	return strings.Join(out, ",")
}

func (p *printer) items(its []Item) string {
	out := make([]string, len(its))
	for i, it := range its {
		if c, ok := it.Expr.(*expr.Col); ok && c.ID == it.Col.ID {
			out[i] = p.expr(c)
			continue
		}
		out[i] = p.col(it.Col) + "=" + p.expr(it.Expr)
	}
	return strings.Join(out, ", ")
}

func (p *printer) calls(cs []SetCall) string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = p.cols(c.Cols) + "=" + c.Fn.Name + "(" + p.list(c.Args, ", ") + ")"
	}
	return strings.Join(out, ", ")
}

func (p *printer) ordinality(id expr.ColID) string {
	if id == 0 {
		return ""
	}
	return " ordinality" + p.id(id)
}

func (p *printer) aggregate(n *Aggregate) string {
	s := "Aggregate"
	switch n.Phase {
	case AggPartial:
		s += " partial"
	case AggFinal:
		s += " final"
	}
	aggs := make([]string, len(n.Aggs))
	for i, a := range n.Aggs {
		aggs[i] = p.col(a.Col) + "=" + p.agg(a.Call)
	}
	if len(aggs) > 0 {
		s += " " + strings.Join(aggs, ", ")
	}
	if len(n.Groups) > 0 {
		s += " by " + p.items(n.Groups)
	}
	if n.Sets != nil {
		s += fmt.Sprintf(" sets %v", n.Sets)
	}
	if n.GroupingID != 0 {
		s += " id" + p.id(n.GroupingID)
	}
	return s
}

func (p *printer) frame(f Frame) string {
	if f.Mode == 'v' && f.Start.Kind == UnboundedPreceding && f.End.Kind == CurrentRow && f.Exclude == 0 {
		return "" // the default
	}
	bound := func(b FrameBound) string {
		switch b.Kind {
		case UnboundedPreceding:
			return "unbounded preceding"
		case Preceding:
			return p.expr(b.Offset) + " preceding"
		case CurrentRow:
			return "current row"
		case Following:
			return p.expr(b.Offset) + " following"
		}
		return "unbounded following"
	}
	s := map[byte]string{'r': " rows ", 'v': " range ", 'g': " groups "}[f.Mode] + bound(f.Start) + " to " + bound(f.End)
	if f.Exclude != 0 {
		s += " exclude " + map[byte]string{'c': "current row", 'g': "group", 't': "ties"}[f.Exclude]
	}
	return s
}

func (p *printer) dml(d *DML, depth int) {
	s := [...]string{"Insert", "Update", "Delete", "Merge"}[d.Kind] + " " + d.Table.Name
	ids := func(label string, list []expr.ColID) {
		if len(list) == 0 {
			return
		}
		out := make([]string, len(list))
		for i, id := range list {
			out[i] = p.id(id)
		}
		s += " " + label + "(" + strings.Join(out, " ") + ")"
	}
	ids("values", d.Values)
	if d.RowID != 0 {
		s += " rowid" + p.id(d.RowID)
	}
	ids("old", d.Old)
	if d.Action != 0 {
		s += " action" + p.id(d.Action)
	}
	p.line(depth, s)
	for _, c := range d.Checks {
		p.line(depth+1, "Check "+c.Name+" "+p.expr(c.Expr))
	}
	if c := d.OnConflict; c != nil {
		s = fmt.Sprintf("OnConflict %d", c.Arbiter)
		if c.Update {
			ids("excluded", c.Excluded)
			ids("existing", c.Existing)
			s += " set " + p.list(c.Set, ", ")
			if c.Where != nil {
				s += " where " + p.expr(c.Where)
			}
		} else {
			s += " nothing"
		}
		p.line(depth+1, s)
	}
	if len(d.Returning) > 0 {
		p.line(depth+1, "Returning "+p.items(d.Returning))
	}
	p.node(d.Source, depth+1)
}

func datums(ds []types.Datum) string {
	if len(ds) == 0 {
		return ""
	}
	return fmt.Sprint(ds)
}
