package plan

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/types"
)

// The attribute numbers of the system columns that a scan reads, as PostgreSQL's.
const (
	CTID = -1
	Xmin = -2
)

// Scan reads a table at the statement's snapshot. The segments are not part of the plan: the
// coordinator hands out splits.
type Scan struct {
	relation
	Table   types.OID
	Name    string // schema-qualified where needed, for EXPLAIN
	Alias   string
	Cols    []Column      // Num is the attnum to read; CTID and Xmin are behind the others
	Missing []types.Datum // per column, for segments older than the column; may be nil
	// Filter are conditions over Cols that the scan applies: zone maps first,
	// then rows.
	Filter []expr.Expr
	// RowID, where not 0, is an extra last column (int8): which row of which
	// segment, for UPDATE and DELETE. See exec/store.RowID.
	RowID expr.ColID
	Rows  float64 // estimate of the rows before Filter
	// Whole says that each node reads all rows. Range, where not 0, says that each reads those whose
	// value of column By lies in its range: equal values of all scans of the same number are read by
	// one node. ByHash, where set, are the columns whose hash determines which node reads a row, as an
	// exchange by these would send it. Else a row is read by one node, whichever has it.
	Whole  bool
	Range  int
	By     expr.ColID
	ByHash []expr.ColID
	// Sample, where not 0, is about how many of the table's rows are read, in parts: see exec/store.Sampled.
	Sample int64
}

func (n *Scan) Children() []Node         { return nil }
func (n *Scan) WithChildren([]Node) Node { return n }

// Schema of a scan: Cols, then the row's id if asked for.
func (n *Scan) Schema() []Column {
	if n.RowID == 0 {
		return n.Cols
	}
	return append(n.Cols[:len(n.Cols):len(n.Cols)], Column{ID: n.RowID, Name: "rowid", Type: types.Int8})
}

// ReadsOwnRows reports whether each node reads rows of its own choice, which no other node can take
// over.
func (n *Scan) ReadsOwnRows() bool { return n.Whole || n.Range > 0 || len(n.ByHash) > 0 }

func (*Scan) Traits() Traits { return Traits{Outside: true} }

func (n *Scan) mapExprs(m *mapper) Node {
	c := *n
	c.Filter = m.list(n.Filter)
	return &c
}

func (n *Scan) format(p *printer) string {
	s := "Scan " + n.Name
	if n.Alias != "" && n.Alias != n.Name {
		s += " " + n.Alias
	}
	s += " " + p.cols(n.Cols)
	if n.RowID != 0 {
		s += " rowid" + p.id(n.RowID)
	}
	if n.Sample > 0 {
		s += fmt.Sprintf(" sample %d", n.Sample)
	}
	return s + p.filter(n.Filter)
}

// Values is a list of rows of expressions without columns; with no Cols and
// one empty row it is the FROM-less SELECT's input.
type Values struct {
	relation
	Cols []Column
	Rows [][]expr.Expr
}

func (n *Values) Children() []Node         { return nil }
func (n *Values) WithChildren([]Node) Node { return n }
func (n *Values) Schema() []Column         { return n.Cols }
func (*Values) Traits() Traits             { return Traits{} }

func (n *Values) mapExprs(m *mapper) Node {
	c := *n
	c.Rows = make([][]expr.Expr, len(n.Rows))
	for i, r := range n.Rows {
		c.Rows[i] = m.list(r)
	}
	return &c
}

func (n *Values) format(p *printer) string {
	rows := make([]string, len(n.Rows))
	for i, r := range n.Rows {
		rows[i] = "(" + p.list(r, ", ") + ")"
	}
	return "Values " + p.cols(n.Cols) + " " + strings.Join(rows, " ")
}

// SequenceRow is the name of the Virtual, in pg_catalog, that is a sequence's row; its argument is the sequence.
const SequenceRow = "$sequence"

// Virtual is a relation computed at the gateway: pg_catalog, information_schema,
// ml.*, cluster.*.
type Virtual struct {
	relation
	Schema_ string
	Name    string
	Alias   string
	Args    []types.Datum // for those that take some, such as ml.weights('m')
	Cols    []Column      // Num is the ordinal in the relation's full row, from 1
	Filter  []expr.Expr
}

func (n *Virtual) Children() []Node         { return nil }
func (n *Virtual) WithChildren([]Node) Node { return n }
func (n *Virtual) Schema() []Column         { return n.Cols }
func (*Virtual) Traits() Traits             { return Traits{Outside: true} }

func (n *Virtual) mapExprs(m *mapper) Node {
	c := *n
	c.Filter = m.list(n.Filter)
	return &c
}

func (n *Virtual) format(p *printer) string {
	return fmt.Sprintf("Virtual %s.%s%s %s%s", n.Schema_, n.Name, datums(n.Args), p.cols(n.Cols), p.filter(n.Filter))
}

// Arg is an argument of a Source by name: a constant, or the call of another
// source, as of transpose(random_matrix(…)).
type Arg struct {
	Name string
	Val  types.Datum
	Type types.Type
	Call string // the source that is called with Args; "" for a constant
	Args []Arg
}

func callText(name string, list []Arg) string {
	args := make([]string, len(list))
	for i, a := range list {
		if a.Call != "" {
			args[i] = callText(a.Call, a.Args)
		} else {
			args[i] = types.TextOf(a.Type, a.Val, nil)
		}
		if a.Name != "" {
			args[i] = a.Name + " => " + args[i]
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// Source is a table function that makes or reads rows in bulk and can be split
// among nodes: read_csv, read_parquet, make_classification, timeseries.
type Source struct {
	relation
	Name string
	Args []Arg
	Cols []Column // Num is the ordinal in the function's full row, from 1
	Rows float64  // estimate
	// Shared is a digest of the files that all nodes read: their paths, sizes and times of change. 0:
	// only the session's node reads them, or there are no files.
	Shared uint64
	Filter []expr.Expr
	Role   types.OID // who reads files of other places than the server's disks

	found any
}

// Keep keeps what the node that plans has found out, so that it need not be found out again when the plan runs there.
func (n *Source) Keep(found any) { n.found = found }

// Kept returns what was kept; nil on other nodes.
func (n *Source) Kept() any { return n.found }

func (n *Source) Children() []Node         { return nil }
func (n *Source) WithChildren([]Node) Node { return n }
func (n *Source) Schema() []Column         { return n.Cols }
func (*Source) Traits() Traits             { return Traits{Outside: true} }

func (n *Source) mapExprs(m *mapper) Node {
	c := *n
	c.Filter = m.list(n.Filter)
	return &c
}

func (n *Source) format(p *printer) string {
	return fmt.Sprintf("Source %s %s%s", callText(n.Name, n.Args), p.cols(n.Cols), p.filter(n.Filter))
}

// SetCall is a call of a set-returning function and its result columns.
type SetCall struct {
	Fn   *fn.Func
	Args []expr.Expr
	Cols []Column
}

// FuncScan is a set-returning function in FROM whose arguments are constant in
// the statement (parameters included). Several Calls are ROWS FROM.
type FuncScan struct {
	relation
	Calls      []SetCall
	Ordinality expr.ColID // 0 for none
	OrdName    string
}

func (n *FuncScan) Children() []Node         { return nil }
func (n *FuncScan) WithChildren([]Node) Node { return n }

func (n *FuncScan) Schema() []Column {
	return setSchema(nil, n.Calls, n.Ordinality, n.OrdName)
}

func (*FuncScan) Traits() Traits { return Traits{} }

func (n *FuncScan) mapExprs(m *mapper) Node {
	c := *n
	c.Calls = m.calls(n.Calls)
	return &c
}

func (n *FuncScan) format(p *printer) string {
	return "FuncScan " + p.calls(n.Calls) + p.ordinality(n.Ordinality)
}

func setSchema(in []Column, calls []SetCall, ord expr.ColID, name string) []Column {
	out := append([]Column(nil), in...)
	for _, c := range calls {
		out = append(out, c.Cols...)
	}
	if ord != 0 {
		out = append(out, Column{ID: ord, Name: name, Type: types.Int8})
	}
	return out
}

// Buffer reads a materialised relation of the statement: a CTE used twice, the
// working table of a recursive one, the RETURNING rows of a data-modifying
// one.
type Buffer struct {
	relation
	ID   int
	Name string
	Cols []Column
	Rows float64
}

func (n *Buffer) Children() []Node         { return nil }
func (n *Buffer) WithChildren([]Node) Node { return n }
func (n *Buffer) Schema() []Column         { return n.Cols }
func (*Buffer) Traits() Traits             { return Traits{} }
func (n *Buffer) mapExprs(*mapper) Node    { return n }

func (n *Buffer) format(p *printer) string {
	return fmt.Sprintf("Buffer %d %s %s", n.ID, n.Name, p.cols(n.Cols))
}

// Receive reads what another stage sends.
type Receive struct {
	relation
	From  StageID
	Link  int // of the Exchange whose runtime filter it reads, until From is known; else 0
	Cols  []Column
	Merge []SortKey // inputs are sorted: merge them
	Rows  float64   // estimated; 0: unknown
}

func (n *Receive) Children() []Node         { return nil }
func (n *Receive) WithChildren([]Node) Node { return n }
func (n *Receive) Schema() []Column         { return n.Cols }
func (*Receive) Traits() Traits             { return Traits{Outside: true} }

func (n *Receive) mapExprs(m *mapper) Node {
	c := *n
	c.Merge = m.orders(n.Merge)
	return &c
}

func (n *Receive) format(p *printer) string {
	return fmt.Sprintf("Receive %d %s", n.From, p.cols(n.Cols))
}
