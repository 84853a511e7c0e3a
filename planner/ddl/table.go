package ddl

import (
	"github.com/tributarydb/tributary/planner/bind"
	"slices"
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

const maxColumns = 1600

func (p *planner) createTable(n *ast.CreateStmt) error {
	p.res.Tag = "CREATE TABLE"
	switch {
	case n.PartBound != nil:
		return pgerr.Unsupported("PARTITION OF is not supported").WithHint("A table makes its partitions itself: PARTITION BY HASH (columns), WITH (partitions = n).")
	case len(items(n.InhRelations)) > 0:
		return pgerr.Unsupported("table inheritance is not supported")
	case n.OfTypename != nil:
		return pgerr.Unsupported("CREATE TABLE OF is not supported")
	case n.TableSpaceName != "" && n.TableSpaceName != "pg_default":
		return pgerr.New(pgerr.UndefinedObject, "tablespace %q does not exist", n.TableSpaceName)
	}
	sc, err := p.schemaFor(n.Relation)
	if err != nil {
		return err
	}
	if skip, err := p.taken(sc, n.Relation.RelName, n.IfNotExists); skip || err != nil {
		return err
	}
	rel, err := p.newTable(sc, n.Relation)
	if err != nil {
		return err
	}
	if err := p.onCommit(rel, n.OnCommit); err != nil {
		return err
	}
	if err := p.tableOptions(rel, n.Options); err != nil {
		return err
	}
	t := &tableBuilder{p: p, rel: rel, schema: sc}
	for _, e := range items(n.TableElts) {
		switch e := e.(type) {
		case *ast.ColumnDef:
			err = t.column(e)
		case *ast.TableLikeClause:
			err = t.like(e)
		case *ast.Constraint:
			t.constraintLater(e, 0)
		default:
			err = pgerr.Unsupported("this table element is not supported")
		}
		if err != nil {
			return err
		}
	}
	if n.PartSpec != nil {
		err = p.partitionBy(rel, n.PartSpec)
	} else {
		err = p.distributionOf(rel)
	}
	if err != nil {
		return err
	}
	for _, c := range n.Constraints {
		t.constraintLater(c, 0)
	}
	return t.finish()
}

func (p *planner) newTable(sc *catalog.Schema, rv *ast.RangeVar) (*catalog.Relation, error) {
	oid, err := p.env.NewOID()
	if err != nil {
		return nil, err
	}
	rel := &catalog.Relation{OID: oid, Schema: sc.OID, Name: rv.RelName, Kind: catalog.KindTable, Owner: p.env.Bind.Role, Partitions: p.env.Partitions,
		ACL: p.st.NewACL(catalog.ClassTable, p.env.Bind.Role, sc.OID)}
	if sc.OID == p.env.Bind.TempSchema && sc.OID != 0 {
		rel.Temp, rel.Session = true, p.env.Session
		rel.Partitions = 1
	}
	return rel, nil
}

func (p *planner) tableOptions(rel *catalog.Relation, opts *ast.NodeList) error {
	for _, o := range items(opts) {
		d, ok := o.(*ast.DefElem)
		if !ok {
			continue
		}
		switch d.Defname {
		case "partitions":
			n, err := strconv.Atoi(text(d.Arg))
			if err != nil || n < 1 || n > 4096 {
				return pgerr.New(pgerr.InvalidParameterValue, "partitions must be between 1 and 4096")
			}
			rel.Partitions = n
		case distributionOption: // its columns are found when the table has them
		case catalog.Retention:
			if _, ok := catalog.ParseRetention(text(d.Arg)); !ok {
				return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", d.Defname, text(d.Arg)).
					WithHint("Give a length of time, such as '30min', '1h' or '7 days'.")
			}
		case "fillfactor", "autovacuum_enabled", "parallel_workers":
			// Storage hints of PostgreSQL: kept and shown, without an effect here.
		case "oids":
			if v := text(d.Arg); v != "false" && v != "off" && v != "0" {
				return pgerr.Unsupported("tables declared WITH OIDS are not supported")
			}
			continue
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter %q", d.Defname).
				WithHint("Tables take partitions = n, distribution_key = 'columns' and retention = 'time'.")
		}
		if rel.Options == nil {
			rel.Options = map[string]string{}
		}
		rel.Options[d.Defname] = text(d.Arg)
	}
	return nil
}

// tableBuilder collects a table's columns first and its constraints after, as
// constraints may name columns that follow them.
type tableBuilder struct {
	p      *planner
	rel    *catalog.Relation
	schema *catalog.Schema
	later  []pending
	first  []catalog.Change // sequences of serial and identity columns
	after  []catalog.Change // indexes
	// exprs are defaults to bind once all columns are there.
	exprs []exprCheck
	alter bool // adding to a table that exists
	// defaults, checks and generated count the expressions of each kind so far.
	defaults, checks, generated int
	// parents are the tables that foreign keys of this statement refer to, as
	// after holds them.
	parents map[types.OID]*catalog.Relation
}

type pending struct {
	c   *ast.Constraint
	col int16 // of a column constraint
	spot
}

type exprCheck struct {
	spot
	text, column string
	kind         string
	typ          types.Type
	allowCols    bool
}

// spot is where an expression is written: errors name a place in it. One that is kept has none, nor,
// as in PostgreSQL, has one of ALTER TABLE.
type spot struct {
	node ast.Node
	text *parse.Statement // from the expression on
}

// written is where an expression is written that stands after a keyword, the nth of its kind.
func (t *tableBuilder) written(n ast.Node, nth *int, word string, others ...string) spot {
	*nth++
	if t.alter || t.p.env.Bind.Text == nil {
		return spot{}
	}
	return spot{n, t.p.env.Bind.Text.After(*nth, word, others...)}
}

// writtenDefault is written for DEFAULT, which ON DELETE SET DEFAULT and GENERATED BY DEFAULT have too.
func (t *tableBuilder) writtenDefault(n ast.Node) spot {
	return t.written(n, &t.defaults, "default", "set", "by")
}

// constraintLater keeps a constraint until all columns are there; col is that of a column's.
func (t *tableBuilder) constraintLater(c *ast.Constraint, col int16) {
	k := pending{c: c, col: col}
	if c.Contype == ast.CONSTR_CHECK {
		k.spot = t.written(c.RawExpr, &t.checks, "check")
	}
	t.later = append(t.later, k)
}

func (t *tableBuilder) column(d *ast.ColumnDef) error {
	if len(t.rel.Columns) >= maxColumns {
		return pgerr.New(pgerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	if t.rel.Column(d.Colname) != nil {
		if t.alter {
			return pgerr.New(pgerr.DuplicateColumn, "column %q of relation %q already exists", d.Colname, t.rel.Name)
		}
		return pgerr.New(pgerr.DuplicateColumn, "column %q specified more than once", d.Colname)
	}
	switch d.Colname {
	case "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid":
		return pgerr.New(pgerr.DuplicateColumn, "column name %q conflicts with a system column name", d.Colname)
	}
	col := catalog.Column{Name: d.Colname, Num: int16(len(t.rel.Columns) + 1)}
	serial := types.OID(0)
	if d.TypeName != nil && len(items(d.TypeName.Names)) == 1 {
		switch text(d.TypeName.Names) {
		case "serial", "serial4":
			serial = types.Int4OID
		case "bigserial", "serial8":
			serial = types.Int8OID
		case "smallserial", "serial2":
			serial = types.Int2OID
		}
	}
	var err error
	if serial != 0 {
		col.Type, col.NotNull = types.Type{OID: serial, Mod: -1}, true
	} else if col.Type, err = t.p.usableType(d.TypeName); err != nil {
		return err
	}
	if col.Type.IsPseudo() {
		return pgerr.New(pgerr.InvalidTableDefinition, "column %q has pseudo-type %s", d.Colname, col.Type)
	}
	if d.Collclause != nil {
		if err := checkCollation(d.Collclause); err != nil {
			return err
		}
		col.Collation = text(d.Collclause.Collname)
	}
	if d.IsNotNull {
		col.NotNull = true
	}
	if d.RawDefault != nil {
		if col.Default, err = bind.KeptText(t.p.env.Bind, d.RawDefault); err != nil {
			return err
		}
		t.exprs = append(t.exprs, exprCheck{spot: t.writtenDefault(d.RawDefault), text: col.Default, column: col.Name, kind: "DEFAULT", typ: col.Type})
	}
	sawNull, sawNotNull := false, false
	var last *ast.Constraint
	for _, cn := range items(d.Constraints) {
		c, ok := cn.(*ast.Constraint)
		if !ok {
			continue
		}
		switch c.Contype {
		case ast.CONSTR_NULL:
			sawNull = true
			if serial == 0 {
				col.NotNull = false
			}
		case ast.CONSTR_NOTNULL:
			sawNotNull = true
			col.NotNull = true
		case ast.CONSTR_DEFAULT:
			if col.Default != "" {
				return pgerr.New(pgerr.SyntaxError, "multiple default values specified for column %q of table %q", col.Name, t.rel.Name)
			}
			if col.Default, err = bind.KeptText(t.p.env.Bind, c.RawExpr); err != nil {
				return err
			}
			t.exprs = append(t.exprs, exprCheck{spot: t.writtenDefault(c.RawExpr), text: col.Default, column: col.Name, kind: "DEFAULT", typ: col.Type})
		case ast.CONSTR_IDENTITY:
			if col.Identity != 0 {
				return pgerr.New(pgerr.SyntaxError, "multiple identity specifications for column %q of table %q", col.Name, t.rel.Name)
			}
			col.Identity, col.NotNull = c.GeneratedWhen, true
			if col.Identity != 'a' {
				col.Identity = 'd'
			}
			t.generated++ // the keyword
			if err := t.identity(&col, c.Options); err != nil {
				return err
			}
		case ast.CONSTR_GENERATED:
			if col.Generated, err = bind.KeptText(t.p.env.Bind, c.RawExpr); err != nil {
				return err
			}
			t.exprs = append(t.exprs, exprCheck{spot: t.written(c.RawExpr, &t.generated, "generated"), text: col.Generated, column: col.Name, kind: "GENERATED", typ: col.Type, allowCols: true})
		case ast.CONSTR_ATTR_DEFERRABLE, ast.CONSTR_ATTR_DEFERRED:
			// They are of the constraint before them.
			if last == nil || last.Contype != ast.CONSTR_FOREIGN {
				return pgerr.Unsupported("deferrable constraints other than foreign keys are not supported")
			}
			last.Deferrable = true
			last.Initdeferred = last.Initdeferred || c.Contype == ast.CONSTR_ATTR_DEFERRED
		case ast.CONSTR_ATTR_NOT_DEFERRABLE, ast.CONSTR_ATTR_IMMEDIATE:
		default:
			copied := *c // attributes that follow are not the statement's
			last = &copied
			t.constraintLater(last, col.Num)
		}
	}
	if sawNull && sawNotNull {
		return pgerr.New(pgerr.SyntaxError, "conflicting NULL/NOT NULL declarations for column %q of table %q", col.Name, t.rel.Name)
	}
	if col.Default != "" && (col.Identity != 0 || col.Generated != "") {
		what := "default and identity"
		if col.Generated != "" {
			what = "default and generation expression"
		}
		return pgerr.New(pgerr.SyntaxError, "both %s specified for column %q of table %q", what, col.Name, t.rel.Name)
	}
	if serial != 0 {
		if col.Default != "" {
			return pgerr.New(pgerr.SyntaxError, "multiple default values specified for column %q of table %q", col.Name, t.rel.Name)
		}
		if err := t.serial(&col); err != nil {
			return err
		}
	}
	t.rel.Columns = append(t.rel.Columns, col)
	return nil
}

// sequenceFor makes the sequence that a serial or identity column owns.
func (t *tableBuilder) sequenceFor(col *catalog.Column, opts *ast.NodeList) (*catalog.Relation, error) {
	oid, err := t.p.env.NewOID()
	if err != nil {
		return nil, err
	}
	mine := func(n string) bool {
		for _, c := range t.first {
			if r, ok := c.(*catalog.PutRelation); ok && r.Rel.Name == n {
				return true
			}
		}
		return n == t.rel.Name
	}
	seq := &catalog.Relation{OID: oid, Schema: t.rel.Schema, Kind: catalog.KindSequence, Owner: t.rel.Owner, Temp: t.rel.Temp, Session: t.rel.Session,
		ACL:  t.p.st.NewACL(catalog.ClassSequence, t.rel.Owner, t.rel.Schema),
		Name: t.p.freeName(t.rel.Schema, []string{t.rel.Name, col.Name}, "seq", mine),
		Seq:  &catalog.Sequence{Type: col.Type, OwnedTable: t.rel.OID, OwnedColumn: col.Num}}
	if _, err := t.p.sequenceOptions(seq, opts, true); err != nil {
		return nil, err
	}
	t.first = append(t.first, &catalog.PutRelation{Rel: seq})
	col.Sequence = oid
	return seq, nil
}

func (t *tableBuilder) serial(col *catalog.Column) error {
	seq, err := t.sequenceFor(col, nil)
	if err != nil {
		return err
	}
	col.Default = "nextval('" + lex.QuoteIdent(t.schema.Name) + "." + lex.QuoteIdent(seq.Name) + "'::regclass)"
	return nil
}

func (t *tableBuilder) identity(col *catalog.Column, opts *ast.NodeList) error {
	if !col.Type.IsInteger() {
		return pgerr.New(pgerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
	}
	_, err := t.sequenceFor(col, opts)
	return err
}

// like copies another relation's columns.
func (t *tableBuilder) like(n *ast.TableLikeClause) error {
	src, err := t.p.existing(n.Relation)
	if err != nil {
		return err
	}
	all := n.Options&ast.CREATE_TABLE_LIKE_ALL != 0
	has := func(o ast.TableLikeOption) bool { return all || n.Options&o != 0 }
	nums := map[int16]int16{}
	for _, c := range src.Live() {
		if t.rel.Column(c.Name) != nil {
			return pgerr.New(pgerr.DuplicateColumn, "column %q specified more than once", c.Name)
		}
		nc := catalog.Column{Name: c.Name, Num: int16(len(t.rel.Columns) + 1), Type: c.Type, NotNull: c.NotNull, Collation: c.Collation}
		if has(ast.CREATE_TABLE_LIKE_DEFAULTS) {
			nc.Default = c.Default
		}
		if has(ast.CREATE_TABLE_LIKE_GENERATED) {
			nc.Generated = c.Generated
		}
		if has(ast.CREATE_TABLE_LIKE_IDENTITY) && c.Identity != 0 {
			nc.Identity = c.Identity
			if err := t.identity(&nc, nil); err != nil {
				return err
			}
		}
		nums[c.Num] = nc.Num
		t.rel.Columns = append(t.rel.Columns, nc)
	}
	for _, c := range src.Constraints {
		cols := make([]int16, len(c.Columns))
		names := ast.NewNodeList()
		for i, num := range c.Columns {
			cols[i] = nums[num]
			names.Append(ast.NewString(t.rel.ColumnNum(nums[num]).Name))
		}
		switch {
		case c.Kind == 'c' && has(ast.CREATE_TABLE_LIKE_CONSTRAINTS):
			oid, err := t.p.env.NewOID()
			if err != nil {
				return err
			}
			nc := c
			nc.OID, nc.Columns = oid, cols
			t.rel.Constraints = append(t.rel.Constraints, nc)
		case (c.Kind == 'p' || c.Kind == 'u') && has(ast.CREATE_TABLE_LIKE_INDEXES):
			kind := ast.CONSTR_UNIQUE
			if c.Kind == 'p' {
				kind = ast.CONSTR_PRIMARY
			}
			t.later = append(t.later, pending{c: &ast.Constraint{Contype: kind, Keys: names, NullsNotDistinct: c.NullsNotDistinct}})
		}
	}
	return nil
}

// constraints adds constraints, foreign keys last: they may refer to a key of
// the same statement.
func (t *tableBuilder) constraints(list []pending) error {
	for _, foreign := range []bool{false, true} {
		for _, l := range list {
			if (l.c.Contype == ast.CONSTR_FOREIGN) != foreign {
				continue
			}
			if err := t.constraint(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish makes the changes: sequences, the table, its indexes.
func (t *tableBuilder) finish() error {
	if err := t.constraints(t.later); err != nil {
		return err
	}
	if err := t.checkExprs(); err != nil {
		return err
	}
	if err := t.p.add(t.first...); err != nil {
		return err
	}
	if err := t.p.add(&catalog.PutRelation{Rel: t.rel}); err != nil {
		return err
	}
	return t.p.add(t.after...)
}

// checkExprs binds defaults and generation expressions for their errors.
func (t *tableBuilder) checkExprs() error {
	// Sequences of this statement must be there for nextval('…') to be bound.
	was := t.p.env.Bind.State
	if len(t.first) > 0 {
		st, err := was.Apply(t.first)
		if err != nil {
			return err
		}
		t.p.env.Bind.State = st
	}
	defer func() { t.p.env.Bind.State = was }()
	for _, e := range t.exprs {
		over := t.rel
		if !e.allowCols {
			over = nil
		}
		seq, err := t.p.columnExpr(e, over)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(t.rel.Columns, func(c catalog.Column) bool { return c.Name == e.column && !c.Dropped }); i >= 0 && !e.allowCols {
			t.rel.Columns[i].Sequence = seq
		}
	}
	return nil
}

func checkCollation(c *ast.CollateClause) error {
	switch name := text(c.Collname); name {
	case "C", "default", "POSIX", "C.UTF-8", "ucs_basic", "en_US", "en_US.utf8", "en-US-x-icu", "und-x-icu":
		if name == "C" || name == "default" || name == "POSIX" || name == "C.UTF-8" || name == "ucs_basic" {
			return nil
		}
		return pgerr.Unsupported("collation %q is not supported; strings compare by their bytes (C)", name)
	default:
		return pgerr.New(pgerr.UndefinedObject, "collation %q for encoding \"UTF8\" does not exist", name)
	}
}
