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

// typeName shows how numerics are represented: numeric is variable, fixed(p,s) not.
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
	p.line(d, n.format(p))
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
	s := d.Kind.String() + " " + d.Table.Name
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
