package define

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/cluster/write"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	// sampledRows is how many rows of a table ANALYZE reads about: PostgreSQL's number for its default
	// statistics target.
	sampledRows = 300 * keptValues
	// readRows is about the most rows of which these are.
	readRows = 64 * store.GroupRows
	// keptBytes is how many the kept values of a column may have, widest those of one value.
	keptBytes, widest = 8 << 10, 1 << 10
)

// Analyze keeps what a sample of a table's rows has in columns, or in all of them. Each column is a
// statement, so that the sample is read, sorted and spilled as any other. A column of a large table is
// read in some parts, and rows picked from these one by one: values that lie together, as those of one
// order do, seem to repeat where whole parts are taken.
func Analyze(x *write.Statement, st *catalog.State, rel *catalog.Relation, only []string) error {
	m := st.Manifest(rel.OID)
	if m == nil || m.Rows() == 0 {
		return nil // as it was
	}
	out := &catalog.Statistics{Table: rel.OID}
	p := &sysview.Progress{Of: "analyze", Relation: rel.OID}
	p.OfBytes.Store(m.Bytes())
	x.Report(p.Enter("acquiring sample rows"))
	share := sampledShare(m)
	for i, c := range rel.Live() {
		p.Bytes.Store(m.Bytes() * int64(i) / int64(len(rel.Live())))
		if len(only) > 0 && !slices.Contains(only, c.Name) {
			if old := st.Statistics(rel.OID).Of(&c); old != nil {
				out.Columns = append(out.Columns, *old)
			}
			continue
		}
		k, err := analyzeColumn(x, st, rel, &c, m.Rows(), share)
		if err != nil {
			return err
		}
		if k != nil {
			out.Columns = append(out.Columns, *k)
		}
	}
	p.Bytes.Store(m.Bytes())
	p.Enter("finalizing analyze")
	slices.SortFunc(out.Columns, func(a, b catalog.ColumnStatistics) int { return cmp.Compare(a.Column, b.Column) })
	_, err := x.Txn.Add(&catalog.PutStatistics{Statistics: out})
	return err
}

// sampledShare returns which share of the rows of the parts that are read is in the sample; 1 if that is
// the whole table.
func sampledShare(m *catalog.Manifest) float64 {
	rows := 0.0 // that are not deleted
	for _, p := range store.Sampled(m, 0, readRows, nil) {
		rows += float64(p.To-p.From) * float64(p.Segment.Live()) / float64(p.Segment.Rows)
	}
	return min(sampledRows/max(rows, 1), 1)
}

// sampledScans makes the scans of a query read parts of their tables.
func sampledScans(n plan.Node) plan.Node {
	if s, ok := n.(*plan.Scan); ok {
		c := *s
		c.Sample = readRows
		return &c
	}
	return plan.MapChildren(n, sampledScans)
}

// analyzeColumn returns what a sample has in a column; nil for a type that has no order.
func analyzeColumn(x *write.Statement, st *catalog.State, rel *catalog.Relation, c *catalog.Column, total int64, share float64) (*catalog.ColumnStatistics, error) {
	sampled := ""
	if total > sampledRows {
		sampled = fmt.Sprintf(" TABLESAMPLE SYSTEM (%g)", 100*share)
	}
	text, err := parse.One(fmt.Sprintf(`SELECT v, w, count(v) OVER (ORDER BY a ROWS UNBOUNDED PRECEDING) FROM (SELECT CASE WHEN w <= %d THEN v END AS v, w, a
		FROM (SELECT %[2]s AS v, pg_catalog.pg_column_size(%[2]s) AS w, ctid AS a FROM %[3]s.%[4]s%[5]s) r) s ORDER BY 1, 3`,
		widest, lex.QuoteIdent(c.Name), lex.QuoteIdent(st.Schema(rel.Schema).Name), lex.QuoteIdent(rel.Name), sampled), parse.Postgres)
	if err != nil {
		return nil, err
	}
	b := x.Binding(x.Ctx, st, text, nil)
	b.Dialect, b.Trusted = parse.Postgres, true
	q, err := bind.Query(b, text.Node)
	if pgerr.CodeOf(err) == pgerr.UndefinedFunction {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if sampled != "" {
		q.Root = sampledScans(q.Root)
	}
	r := x.Open(st)
	defer r.Close()
	rows, cols, err := r.Query(x.Ctx, planner.Once(q), nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	acct := x.Pool.Account("statistics", false)
	defer acct.Close()
	s := &sample{typ: c.Type, total: float64(total), whole: sampled == ""}
	if err := s.read(x, rows, cols, acct.Grow); err != nil {
		return nil, err
	}
	k := s.statistics()
	k.Column, k.Type = c.Num, c.Type.OID
	return k, nil
}

// read adds rows, which come by value.
func (s *sample) read(x *write.Statement, rows op.BatchReader, cols []plan.Column, charge func(int64) error) error {
	for {
		b, err := rows.Next(x.Ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range b.Rows() {
			if b.Sel != nil {
				i = int(b.Sel[i])
			}
			at := func(c int) types.Datum { return types.DatumAt(cols[c].Type, b.Cols[c], i) }
			v := at(0)
			if t, ok := v.(string); ok {
				v = strings.Clone(t) // not the batch it is of
			}
			w, _ := at(1).(int64)
			if v != nil && (len(s.groups) == 0 || !types.Equal(s.typ, s.groups[len(s.groups)-1].v, v)) {
				if err := charge(64 + types.DatumBytes(v)); err != nil {
					return err
				}
			}
			s.add(v, at(1) != nil, w, at(2).(int64))
		}
	}
}
