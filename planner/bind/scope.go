package bind

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// level is one SELECT or DML statement: the owner of the columns its FROM
// items emit and of the aggregates, windows and set-returning calls that
// appear in its expressions. Those leave a column behind where they stand.
type level struct {
	depth     int
	aggs      []*aggItem
	aggAt     map[uint64][]*aggItem // the same, by hashAgg
	wins      []*winItem
	srfs      []*srfItem
	groupings []*groupingItem
	windows   []namedWindow
	rels      []*rel // all FROM items, for functional dependency
}

// aggItem is an aggregate call of a level.
type aggItem struct {
	item plan.AggItem
}

// srfItem is a call of a set-returning function in a select list. Calls whose
// arguments hold other such calls' columns are one deeper.
type srfItem struct {
	call  plan.SetCall
	depth int
	early bool // computed before grouping: a group key uses it
}

// groupingItem is a GROUPING(…) call: its column and its arguments.
type groupingItem struct {
	col  plan.Column
	args []expr.Expr
}

// rel is an item of a FROM clause as names see it.
type rel struct {
	name   string
	schema string    // of a table without an alias
	oid    types.OID // of a relation of the catalog
	cols   []relCol
	system []relCol // found by their names, and by nothing else
	named  bool     // name.col may refer to it
	open   bool     // its columns are found without the name
	scalar bool     // a function of one value: the name alone is the value
	// nullable: an outer join may fill it with NULLs; then the row as a whole is
	// NULL where all its columns are.
	nullable bool
	blocked  bool // in the FROM clause, but not to be seen from here
	banned   bool // LATERAL sees it, and may not
	table    *catalog.Relation
	reads    []use      // of a view: what it reads
	scan     *plan.Scan // of a table
}

// relCol is a column of a rel. e is what a reference to it stands for: the
// column that a plan node emits, or for merged join columns an expression.
type relCol struct {
	name  string
	e     expr.Expr
	orig  string // its name in the table, whatever aliases say
	table types.OID
	num   int16
	use   int // index into stmt.uses, from 1; 0 where no privilege is needed
	// hidden columns are found by name, but * leaves them out.
	hidden bool
	system bool // of rel.system
}

// scope is a set of FROM items in which names are looked up.
type scope struct {
	b      *binder
	lv     *level
	parent *scope
	rels   []*rel
	ctes   *cteEnv
	at     place // where in the parent the query of this scope stands
}

// child is the scope of a query nested in sc, with a level of its own.
func (sc *scope) child(at place) *scope {
	d := 1
	if sc.lv != nil {
		d = sc.lv.depth + 1
	}
	return &scope{b: sc.b, lv: &level{depth: d}, parent: sc, ctes: sc.ctes, at: at}
}

// with is sc showing other FROM items.
func (sc *scope) with(rels []*rel) *scope {
	n := *sc
	n.rels = rels
	return &n
}

// found is a resolved column.
type found struct {
	rel *rel
	col *relCol
}

// lookup finds an unqualified column in sc alone.
func (sc *scope) lookup(name string) (f found, err error) {
	n := 0
	for _, r := range sc.rels {
		if !r.open || r.blocked {
			continue
		}
		for i := range r.cols {
			if r.cols[i].name == name {
				f, n = found{r, &r.cols[i]}, n+1
			}
		}
		for i := range r.system {
			if r.system[i].name == name {
				f, n = found{r, &r.system[i]}, n+1
			}
		}
	}
	if n == 1 && f.rel.banned {
		return f, sc.bannedReference(f.rel)
	}
	if n > 1 {
		return f, pgerr.New(pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(sc.b.posIdent(name))
	}
	return f, nil
}

// column resolves an unqualified name through the enclosing queries.
func (sc *scope) column(name string) (expr.Expr, bool, error) {
	for s := sc; s != nil; s = s.parent {
		f, err := s.lookup(name)
		if err != nil {
			return nil, false, err
		}
		if f.col != nil {
			return sc.b.use(f), true, nil
		}
	}
	return nil, false, nil
}

// relation resolves a FROM item's name through the enclosing queries.
func (sc *scope) relation(schema, name string) (*rel, error) {
	for s := sc; s != nil; s = s.parent {
		var hit *rel
		for _, r := range s.rels {
			if !r.named || r.blocked || r.name != name || schema != "" && r.schema != schema {
				continue
			}
			if hit != nil {
				return nil, pgerr.New(pgerr.AmbiguousAlias, "table reference \"%s\" is ambiguous", name).At(sc.b.posIdent(name))
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

// banned are FROM items that an item beside them may not read.
func banned(rels []*rel) []*rel {
	out := make([]*rel, len(rels))
	for i, r := range rels {
		c := *r
		c.banned = true
		out[i] = &c
	}
	return out
}

func (sc *scope) bannedReference(r *rel) error {
	return pgerr.New(pgerr.InvalidColumnReference, "invalid reference to FROM-clause entry for table \"%s\"", r.name).
		WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.").At(sc.b.posIdent(r.name))
}

// use notes that a column is read, for privileges, and gives its expression.
func (b *binder) use(f found) expr.Expr {
	if f.col.system {
		return b.ofRow(f.rel, f.col.e)
	}
	if f.col.use > 0 && f.col.num > 0 {
		b.noteColumn(f.col.use, f.col.num)
	}
	return f.col.e
}

// in finds a column of a rel.
func (b *binder) in(r *rel, name string) (expr.Expr, error) {
	var hit *relCol
	for i := range r.cols {
		if r.cols[i].name != name {
			continue
		}
		if hit != nil {
			return nil, pgerr.New(pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(b.posIdent(r.name, name))
		}
		hit = &r.cols[i]
	}
	if hit != nil {
		return b.use(found{r, hit}), nil
	}
	for i := range r.system {
		if r.system[i].name == name {
			return b.use(found{r, &r.system[i]}), nil
		}
	}
	return nil, nil
}

// columnRef resolves a dotted name: column, rel.column, schema.rel.column, or a
// whole row.
func (sc *scope) columnRef(names []string) (expr.Expr, error) {
	b := sc.b
	names, err := b.columnName(names)
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
		return nil, sc.noColumn("", names[0])
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

func (sc *scope) relColumn(r *rel, names []string) (expr.Expr, error) {
	name := names[len(names)-1]
	e, err := sc.b.in(r, name)
	if e != nil || err != nil {
		return e, err
	}
	return nil, sc.noColumn(names[len(names)-2], name)
}

// wholeRow is a rel as a value: a record of its columns.
func (b *binder) wholeRow(r *rel) expr.Expr {
	if r.scalar && len(r.cols) == 1 {
		return b.use(found{r, &r.cols[0]})
	}
	rec := &types.Record{}
	row := &expr.RowCtor{}
	for i := range r.cols {
		e := b.use(found{r, &r.cols[i]})
		name := r.cols[i].name
		if r.cols[i].orig != "" { // a table's row is of the table's type
			name = r.cols[i].orig
		}
		rec.Fields = append(rec.Fields, types.Field{Name: name, Type: e.Type()})
		row.Elems = append(row.Elems, e)
	}
	row.Typ = types.RecordT
	row.Typ.Rec = rec
	// A row that an outer join made up is NULL, not a row of NULLs.
	return b.ofRow(r, row)
}

// ofRow is e, which is not NULL in itself, as a value of a rel's row: NULL
// where an outer join made that up.
func (b *binder) ofRow(r *rel, e expr.Expr) expr.Expr {
	if !r.nullable || len(r.cols) == 0 {
		return e
	}
	nulls := make([]expr.Expr, len(r.cols))
	for i := range r.cols {
		nulls[i] = &expr.IsNull{Arg: b.use(found{r, &r.cols[i]})}
	}
	absent := nulls[0]
	if len(nulls) > 1 {
		absent = &expr.And{Args: nulls}
	}
	return &expr.Case{Whens: []expr.When{{Cond: absent, Then: &expr.Const{Typ: e.Type()}}}, Else: e, Typ: e.Type()}
}

// ---- errors of name resolution ----

func dotted(names []string) string {
	s := ""
	for i, n := range names {
		if i > 0 {
			s += "."
		}
		s += n
	}
	return s
}

// noColumn is 42703, with PostgreSQL's guesses.
func (sc *scope) noColumn(table, name string) error {
	b := sc.b
	var e *pgerr.Error
	if table == "" {
		e = pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name).At(b.posIdent(name))
	} else {
		e = pgerr.New(pgerr.UndefinedColumn, "column %s.%s does not exist", table, name).At(b.posIdent(table, name))
		if e.Position == 0 {
			e.Position = b.posIdent(name)
		}
	}
	// A column of that name that cannot be seen from here explains more than a
	// similar one that can.
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.rels {
			if !r.blocked || table != "" {
				continue
			}
			for _, c := range r.cols {
				if c.name == name {
					return e.WithDetail("There is a column named \"%s\" in table \"%s\", but it cannot be referenced from this part of the query.", name, r.name)
				}
			}
		}
	}
	const far = 4 // more than three changes is no guess
	best, ties := far, 0
	var hit, second string
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.rels {
			if r.blocked || !r.named {
				continue
			}
			penalty := 0
			if table != "" {
				penalty = distance(table, r.name, far)
			}
			for _, c := range r.cols {
				if c.name == "" || c.name == "?column?" {
					continue
				}
				d := distance(name, c.name, far)
				if d > len(name)/2 {
					continue
				}
				if d += penalty; d < best {
					best, ties, hit, second = d, 1, r.name+"."+c.name, ""
				} else if d == best && d < far {
					if ties++; ties == 2 {
						second = r.name + "." + c.name
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

// missingFrom is 42P01 for a qualifier that names no FROM item.
func (sc *scope) missingFrom(schema, name string, names []string) error {
	b := sc.b
	pos := b.spotIdent(names...)
	if pos.at() == 0 {
		pos = b.spotIdent(name)
	}
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.rels {
			if r.blocked && r.named && r.name == name && (schema == "" || r.schema == schema) {
				return b.at(sc.invalidReference(r, name), pos)
			}
			if r.table != nil && r.name != name && r.table.Name == name && (schema == "" || r.schema == schema) && r.named {
				return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", name).
					WithHint("Perhaps you meant to reference the table alias \"%s\".", r.name).At(pos.at())
			}
		}
	}
	return pgerr.New(pgerr.UndefinedTable, "missing FROM-clause entry for table \"%s\"", name).At(pos.at())
}

// invalidReference is 42P01 for an item that stands where it cannot be seen.
func (sc *scope) invalidReference(r *rel, name string) error {
	return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", name).
		WithDetail("There is an entry for table \"%s\", but it cannot be referenced from this part of the query.", r.name).At(sc.b.posIdent(name))
}

// distance is the Levenshtein distance, at most limit.
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
