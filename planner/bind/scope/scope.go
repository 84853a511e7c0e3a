package scope

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Level is one SELECT or DML statement: the owner of the columns its FROM items emit and of the
// aggregates, windows and set-returning calls that appear in its expressions. Those are replaced by
// a column where they stand.
type Level struct {
	Depth       int
	Aggs        []*aggItem
	aggAt       map[uint64][]*aggItem // the same, by hashAgg
	WindowCalls []*WindowCall
	windowAt    map[uint64][]*WindowCall // by window, and by window and call
	SetCalls    []*SetCall
	Groupings   []*groupingItem
	windows     []namedWindow
	Items       []*Item // all FROM items, for functional dependency
}

// aggItem is an aggregate call of a level.
type aggItem struct {
	Item plan.AggItem
}

// SetCall is a call of a set-returning function in a select list. Calls whose
// arguments hold other such calls' columns are one deeper.
type SetCall struct {
	Call  plan.SetCall
	Depth int
	Early bool // computed before grouping: a group key uses it
}

// groupingItem is a GROUPING(…) call: its column and its arguments.
type groupingItem struct {
	Col  plan.Column
	Args []expr.Expr
}

// Item is an item of a FROM clause for name lookup.
type Item struct {
	Name   string
	Schema string    // of a table without an alias
	OID    types.OID // of a relation of the catalog
	Cols   []Column
	System []Column // found by their names, and by nothing else
	Named  bool     // name.col may refer to it
	Open   bool     // its columns are found without the name
	Scalar bool     // a function of one value: the name alone is the value
	// Nullable: an outer join may fill the item with NULLs. Then its row as a whole is NULL if all its
	// columns are NULL.
	Nullable bool
	Blocked  bool // in the FROM clause, but not visible here
	banned   bool // visible by LATERAL, but not allowed
	Table    *catalog.Relation
	Reads    []Use      // of a view: what it reads
	Scan     *plan.Scan // of a table
}

// Column is a column of an Item. A reference to it stands for Expr: the column that a plan node
// emits, or for merged join columns an expression.
type Column struct {
	Name  string
	Expr  expr.Expr
	Orig  string // its name in the table, whatever aliases say
	Table types.OID
	Num   int16
	Use   int // number of the use, from 1; 0 where no privilege is needed
	// Hidden columns are found by name, but * leaves them out.
	Hidden bool
	// System columns are those of Item.System; one without Expr is not known yet.
	System bool
}

// Scope is a set of FROM items in which names are looked up.
type Scope struct {
	Binder *Binder
	Level  *Level
	Parent *Scope
	Items  []*Item
	With   *With
	Place  Place // where in the parent the query of this scope stands
}

// Child returns the scope of a query nested in sc, with a level of its own.
func (sc *Scope) Child(at Place) *Scope {
	d := 1
	if sc.Level != nil {
		d = sc.Level.Depth + 1
	}
	return &Scope{Binder: sc.Binder, Level: &Level{Depth: d}, Parent: sc, With: sc.With, Place: at}
}

// WithItems returns sc with other FROM items.
func (sc *Scope) WithItems(rels []*Item) *Scope {
	n := *sc
	n.Items = rels
	return &n
}

// Found is a resolved column.
type Found struct {
	Rel *Item
	Col *Column
}

// Lookup finds an unqualified column in sc alone.
func (sc *Scope) Lookup(name string) (f Found, err error) {
	n := 0
	for _, r := range sc.Items {
		if !r.Open || r.Blocked {
			continue
		}
		for i := range r.Cols {
			if r.Cols[i].Name == name {
				f, n = Found{r, &r.Cols[i]}, n+1
			}
		}
		for i := range r.System {
			if r.System[i].Name == name {
				f, n = Found{r, &r.System[i]}, n+1
			}
		}
	}
	if n == 1 && f.Rel.banned {
		return f, sc.bannedReference(f.Rel)
	}
	if n > 1 {
		return f, pgerr.New(pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(sc.Binder.PosIdent(name))
	}
	return f, nil
}

// column resolves an unqualified name through the enclosing queries.
func (sc *Scope) column(name string) (expr.Expr, bool, error) {
	for s := sc; s != nil; s = s.Parent {
		f, err := s.Lookup(name)
		if err != nil {
			return nil, false, err
		}
		if f.Col != nil {
			return sc.Binder.Use(f), true, sc.Binder.known(f.Col)
		}
	}
	return nil, false, nil
}

// relation resolves a FROM item's name through the enclosing queries.
func (sc *Scope) relation(schema, name string) (*Item, error) {
	for s := sc; s != nil; s = s.Parent {
		var hit *Item
		for _, r := range s.Items {
			if !r.Named || r.Blocked || r.Name != name || schema != "" && r.Schema != schema {
				continue
			}
			if hit != nil {
				return nil, pgerr.New(pgerr.AmbiguousAlias, "table reference \"%s\" is ambiguous", name).At(sc.Binder.PosIdent(name))
			}
			hit = r
		}
		if hit != nil && hit.banned {
			return nil, sc.bannedReference(hit)
		}
		if hit != nil {
			return hit, nil
		}
	}
	return nil, nil
}

// Banned returns FROM items that an item beside them may not read.
func Banned(rels []*Item) []*Item {
	out := make([]*Item, len(rels))
	for i, r := range rels {
		c := *r
		c.banned = true
		out[i] = &c
	}
	return out
}

func (sc *Scope) bannedReference(r *Item) error {
	return pgerr.New(pgerr.InvalidColumnReference, "invalid reference to FROM-clause entry for table \"%s\"", r.Name).
		WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.").At(sc.Binder.PosIdent(r.Name))
}

// Use records for the privileges that a column is read, and returns its expression.
func (b *Binder) Use(f Found) expr.Expr {
	if _, read := f.Col.Expr.(*expr.Col); f.Col.System && f.Col.Expr != nil && !read {
		return b.ofRow(f.Rel, f.Col.Expr)
	}
	if f.Col.Use > 0 && f.Col.Num > 0 {
		b.NoteColumn(f.Col.Use, f.Col.Num)
	}
	return f.Col.Expr
}

// known refuses a system column whose value exists only after the commit.
func (b *Binder) known(c *Column) error {
	if c.System && c.Expr == nil {
		return pgerr.Unsupported("%s of a row that the statement writes is not supported", c.Name).At(b.PosIdent(c.Name))
	}
	return nil
}

// in finds a column of an item.
func (b *Binder) in(r *Item, name string) (expr.Expr, error) {
	var hit *Column
	for i := range r.Cols {
		if r.Cols[i].Name != name {
			continue
		}
		if hit != nil {
			return nil, pgerr.New(pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(b.PosIdent(r.Name, name))
		}
		hit = &r.Cols[i]
	}
	if hit != nil {
		return b.Use(Found{r, hit}), nil
	}
	for i := range r.System {
		if r.System[i].Name == name {
			return b.Use(Found{r, &r.System[i]}), b.known(&r.System[i])
		}
	}
	return nil, nil
}

// columnRef resolves a dotted name: column, rel.column, schema.rel.column, or a
// whole row.
func (sc *Scope) columnRef(names []string) (expr.Expr, error) {
	b := sc.Binder
	names, err := b.ColumnName(names)
	if err != nil {
		return nil, err
	}
	switch len(names) {
	case 1:
		e, ok, err := sc.column(names[0])
		if ok || err != nil {
			return e, err
		}
		r, err := sc.relation("", names[0])
		if err != nil {
			return nil, err
		}
		if r != nil {
			return b.wholeRow(r), nil
		}
		return nil, sc.NoColumn("", names[0])
	case 2:
		r, err := sc.relation("", names[0])
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, sc.missingFrom("", names[0], names)
		}
		return sc.relColumn(r, names)
	}
	r, err := sc.relation(names[0], names[1])
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, sc.missingFrom(names[0], names[1], names)
	}
	return sc.relColumn(r, names)
}

func (sc *Scope) relColumn(r *Item, names []string) (expr.Expr, error) {
	name := names[len(names)-1]
	e, err := sc.Binder.in(r, name)
	if e != nil || err != nil {
		return e, err
	}
	return nil, sc.NoColumn(names[len(names)-2], name)
}

// wholeRow returns an item as a value: a record of its columns.
func (b *Binder) wholeRow(r *Item) expr.Expr {
	if r.Scalar && len(r.Cols) == 1 {
		return b.Use(Found{r, &r.Cols[0]})
	}
	rec := &types.Record{}
	if r.Table != nil && r.Table.HasRowType() {
		rec.Rel = r.Table.OID
	}
	row := &expr.RowCtor{}
	for i := range r.Cols {
		e := b.Use(Found{r, &r.Cols[i]})
		name := r.Cols[i].Name
		if r.Cols[i].Orig != "" { // a table's row is of the table's type
			name = r.Cols[i].Orig
		}
		rec.Fields = append(rec.Fields, types.Field{Name: name, Type: e.Type()})
		row.Elems = append(row.Elems, e)
	}
	row.Typ = types.RecordT
	row.Typ.Rec = rec
	// A row that an outer join padded is NULL, not a row of NULLs.
	return b.ofRow(r, row)
}

// ofRow returns e, which is not NULL in itself, as a value of an item's row: NULL where an outer
// join padded the row.
func (b *Binder) ofRow(r *Item, e expr.Expr) expr.Expr {
	if !r.Nullable || len(r.Cols) == 0 {
		return e
	}
	nulls := make([]expr.Expr, len(r.Cols))
	for i := range r.Cols {
		nulls[i] = &expr.IsNull{Arg: b.Use(Found{r, &r.Cols[i]})}
	}
	absent := nulls[0]
	if len(nulls) > 1 {
		absent = &expr.And{Args: nulls}
	}
	return &expr.Case{Whens: []expr.When{{Cond: absent, Then: &expr.Const{Typ: e.Type()}}}, Else: e, Typ: e.Type()}
}

// NoColumn returns the error 42703, with PostgreSQL's hints.
func (sc *Scope) NoColumn(table, name string) error {
	b := sc.Binder
	var e *pgerr.Error
	if table == "" || b.inner[table] {
		e = pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name).At(b.PosIdent(name))
	} else {
		e = pgerr.New(pgerr.UndefinedColumn, "column %s.%s does not exist", table, name).At(b.PosIdent(table, name))
		if e.Position == 0 {
			e.Position = b.PosIdent(name)
		}
	}
	// A column of that name that is not visible here explains more than a similar one that is.
	for s := sc; s != nil; s = s.Parent {
		for _, r := range s.Items {
			if !r.Blocked || table != "" {
				continue
			}
			for _, c := range r.Cols {
				if c.Name == name {
					return e.WithDetail("There is a column named \"%s\" in table \"%s\", but it cannot be referenced from this part of the query.", name, r.Name)
				}
			}
		}
	}
	const far = 4 // more than three changes are no typing error
	best, ties := far, 0
	var hit, second string
	for s := sc; s != nil; s = s.Parent {
		for _, r := range s.Items {
			if r.Blocked || !r.Named {
				continue
			}
			penalty := 0
			if table != "" {
				penalty = distance(table, r.Name, far)
			}
			for _, c := range r.Cols {
				if c.Name == "" || c.Name == "?column?" {
					continue
				}
				d := distance(name, c.Name, far)
				if d > len(name)/2 {
					continue
				}
				if d += penalty; d < best {
					best, ties, hit, second = d, 1, r.Name+"."+c.Name, ""
				} else if d == best && d < far {
					if ties++; ties == 2 {
						second = r.Name + "." + c.Name
					}
				}
			}
		}
	}
	switch {
	case hit == "" || ties > 2:
		return e
	case second != "":
		return e.WithHint("Perhaps you meant to reference the column \"%s\" or the column \"%s\".", hit, second)
	}
	return e.WithHint("Perhaps you meant to reference the column \"%s\".", hit)
}

// missingFrom returns the error 42P01 for a qualifier that names no FROM item.
func (sc *Scope) missingFrom(schema, name string, names []string) error {
	b := sc.Binder
	pos := b.SpotIdent(names...)
	if pos.At() == 0 {
		pos = b.SpotIdent(name)
	}
	for s := sc; s != nil; s = s.Parent {
		for _, r := range s.Items {
			if r.Blocked && r.Named && r.Name == name && (schema == "" || r.Schema == schema) {
				return b.At(sc.invalidReference(r, name), pos)
			}
			if r.Table != nil && r.Name != name && r.Table.Name == name && (schema == "" || r.Schema == schema) && r.Named {
				return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", name).
					WithHint("Perhaps you meant to reference the table alias \"%s\".", r.Name).At(pos.At())
			}
		}
	}
	return pgerr.New(pgerr.UndefinedTable, "missing FROM-clause entry for table \"%s\"", name).At(pos.At())
}

// invalidReference returns the error 42P01 for an item that is not visible here.
func (sc *Scope) invalidReference(r *Item, name string) error {
	return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", name).
		WithDetail("There is an entry for table \"%s\", but it cannot be referenced from this part of the query.", r.Name).At(sc.Binder.PosIdent(name))
}

// distance returns the Levenshtein distance, at most limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diag := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diag
			if x[i] != y[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return min(row[len(y)], limit)
}
