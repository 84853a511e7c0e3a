package mysql

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
)

func (t *translator) dropTables(kind string, ifExists bool, names sqlparser.TableNames) {
	t.w("DROP", kind)
	if ifExists {
		t.w("IF EXISTS")
	}
	for i, n := range names {
		t.comma(i)
		t.tableName(n)
	}
}

func (t *translator) createView(n *sqlparser.CreateView) {
	t.w("CREATE")
	if n.IsReplace {
		t.w("OR REPLACE")
	}
	t.w("VIEW")
	t.tableName(n.ViewName)
	if len(n.Columns) > 0 {
		t.columns(n.Columns)
	}
	t.w("AS")
	t.query(n.Select)
	if n.CheckOption != "" {
		t.w("WITH", n.CheckOption, "CHECK OPTION")
	}
	if n.Definer != nil || n.Security != "" || n.Algorithm != "" {
		t.note("ALGORITHM, DEFINER and SQL SECURITY of a view are ignored")
	}
}

func (t *translator) renameTable(n *sqlparser.RenameTable) {
	if len(n.TablePairs) != 1 {
		t.refuse("RENAME of several tables", "rename")
		return
	}
	p := n.TablePairs[0]
	t.w("ALTER TABLE")
	t.tableName(p.FromTable)
	t.w("RENAME TO")
	t.ident(p.ToTable.Name.String())
}

func (t *translator) createTable(n *sqlparser.CreateTable) {
	if n.IgnoreOrReplace != sqlparser.NoIgnoreOrReplace {
		t.refuse("CREATE TABLE … IGNORE or REPLACE", "ignore", "replace")
	}
	if n.Select != nil && n.TableSpec != nil && len(n.TableSpec.Columns) > 0 {
		t.refuse("CREATE TABLE with columns and a query", "create")
	}
	t.w("CREATE")
	if n.Temp {
		t.w("TEMPORARY")
	}
	t.w("TABLE")
	if n.IfNotExists {
		t.w("IF NOT EXISTS")
	}
	t.tableName(n.Table)
	switch {
	case n.OptLike != nil:
		t.w("( LIKE")
		t.tableName(n.OptLike.LikeTable)
		t.w("INCLUDING ALL )")
		return
	case n.Select != nil:
		if n.TableSpec != nil {
			t.tableOptions(n.TableSpec)
		}
		t.w("AS")
		t.query(n.Select)
		return
	case n.TableSpec == nil:
		t.unknown(n)
		return
	}
	start := t.tableOptions(n.TableSpec)
	t.w("(")
	items := 0
	for _, c := range n.TableSpec.Columns {
		t.comma(items)
		items++
		t.columnDef(c, start)
	}
	for _, x := range n.TableSpec.Indexes {
		if t.indexed(x) {
			t.comma(items)
			items++
			t.index(x)
		}
	}
	for _, c := range n.TableSpec.Constraints {
		t.comma(items)
		items++
		t.constraint(c)
	}
	t.w(")")
}

// tableOptions records options that have no meaning here and returns AUTO_INCREMENT's start.
func (t *translator) tableOptions(s *sqlparser.TableSpec) (start string) {
	for _, o := range s.Options {
		if lex.Fold(o.Name) == "auto_increment" && o.Value != nil {
			start = o.Value.Val
			continue
		}
		t.note("table option %s is ignored", strings.ToUpper(o.Name))
	}
	if s.PartitionOption != nil {
		t.note("PARTITION BY is ignored")
	}
	return start
}

// indexed reports whether an index is a constraint too (PRIMARY KEY, UNIQUE); a
// plain one is left out with a notice.
func (t *translator) indexed(x *sqlparser.IndexDefinition) bool {
	if x.Info.IsUnique() {
		return true
	}
	kind := "KEY"
	switch x.Info.Type {
	case sqlparser.IndexTypeFullText:
		kind = "FULLTEXT KEY"
	case sqlparser.IndexTypeSpatial:
		kind = "SPATIAL KEY"
	}
	if name := x.Info.Name.String(); name != "" {
		kind += " " + folded(name)
	}
	t.note("%s is ignored", kind)
	return false
}

// index writes PRIMARY KEY or UNIQUE.
func (t *translator) index(x *sqlparser.IndexDefinition) {
	if x.Info.Type == sqlparser.IndexTypePrimary {
		t.w("PRIMARY KEY")
	} else {
		name := x.Info.ConstraintName.String()
		if name == "" {
			name = x.Info.Name.String()
		}
		if name != "" {
			t.w("CONSTRAINT")
			t.ident(name)
		}
		t.w("UNIQUE")
	}
	t.w("(")
	for i, c := range x.Columns {
		t.comma(i)
		if c.Length != nil || c.Expression != nil {
			t.refuse("a unique key over a prefix or an expression", "unique", "primary")
		}
		t.ident(c.Column.String())
	}
	t.w(")")
}

func (t *translator) constraint(c *sqlparser.ConstraintDefinition) {
	if !c.Name.IsEmpty() {
		t.w("CONSTRAINT")
		t.ident(c.Name.String())
	}
	switch d := c.Details.(type) {
	case *sqlparser.ForeignKeyDefinition:
		t.w("FOREIGN KEY")
		t.columns(d.Source)
		t.references(d.ReferenceDefinition)
	case *sqlparser.CheckConstraintDefinition:
		if !d.Enforced {
			t.refuse("CHECK … NOT ENFORCED", "enforced")
		}
		t.w("CHECK (")
		t.cond(d.Expr)
		t.w(")")
	default:
		t.unknown(d)
	}
}

var referenceActions = map[sqlparser.ReferenceAction]string{
	sqlparser.Restrict: "RESTRICT", sqlparser.Cascade: "CASCADE", sqlparser.NoAction: "NO ACTION", sqlparser.SetNull: "SET NULL",
	sqlparser.SetDefault: "SET DEFAULT",
}

func (t *translator) references(r *sqlparser.ReferenceDefinition) {
	t.w("REFERENCES")
	t.tableName(r.ReferencedTable)
	if len(r.ReferencedColumns) > 0 {
		t.columns(r.ReferencedColumns)
	}
	switch r.Match {
	case sqlparser.Full:
		t.w("MATCH FULL")
	case sqlparser.Partial:
		t.refuse("MATCH PARTIAL", "partial")
	}
	if a := referenceActions[r.OnDelete]; a != "" {
		t.w("ON DELETE", a)
	}
	if a := referenceActions[r.OnUpdate]; a != "" {
		t.w("ON UPDATE", a)
	}
}

// columnDef writes a column; start is where its AUTO_INCREMENT begins.
func (t *translator) columnDef(c *sqlparser.ColumnDefinition, start string) {
	name := c.Name.String()
	t.ident(name)
	t.columnType(name, c.Type)
	o := c.Type.Options
	if o == nil {
		o = &sqlparser.ColumnTypeOptions{}
	}
	if o.Autoincrement {
		t.w("GENERATED BY DEFAULT AS IDENTITY")
		if start != "" {
			t.w("( START WITH", start, ")")
		}
	}
	if o.As != nil {
		t.w("GENERATED ALWAYS AS (")
		t.value(o.As)
		t.w(") STORED")
	}
	if o.Null != nil && !*o.Null {
		t.w("NOT NULL")
	}
	if o.Default != nil {
		if _, null := o.Default.(*sqlparser.NullVal); !null {
			t.w("DEFAULT")
			t.value(o.Default)
		}
	}
	switch o.KeyOpt {
	case sqlparser.ColKeyPrimary, sqlparser.ColKey:
		t.w("PRIMARY KEY")
	case sqlparser.ColKeyUnique, sqlparser.ColKeyUniqueKey:
		t.w("UNIQUE")
	case sqlparser.ColKeyNone:
	default:
		t.note("key of column %s is ignored", folded(name))
	}
	if len(c.Type.EnumValues) > 0 && lex.Fold(c.Type.Type) == "enum" {
		t.w("CHECK (")
		t.ident(name)
		t.w("IN (")
		for i, v := range c.Type.EnumValues {
			t.comma(i)
			t.w(lex.QuoteLiteral(lex.MySQLLiteral(v)))
		}
		t.w(") )")
	}
	if o.Reference != nil {
		t.references(o.Reference)
	}
	if o.OnUpdate != nil {
		t.note("ON UPDATE CURRENT_TIMESTAMP of column %s is ignored", folded(name))
	}
	if o.Comment != nil {
		t.note("COMMENT of column %s is ignored", folded(name))
	}
	if o.Collate != "" || c.Type.Charset.Name != "" || c.Type.Charset.Binary {
		t.note("character set and collation of column %s are ignored", folded(name))
	}
	if o.Invisible != nil && *o.Invisible {
		t.refuse("INVISIBLE column", "invisible")
	}
}

// mysqlTypes are the types that have an equivalent whatever their modifiers.
// tinyint(1) is not boolean: in MySQL it holds 2 as well as 1.
var mysqlTypes = map[string]string{
	"tinyint": "smallint", "smallint": "smallint", "mediumint": "integer", "int": "integer", "integer": "integer",
	"bigint": "bigint", "bool": "smallint", "boolean": "smallint", "year": "smallint", "float": "real", "float4": "real",
	"float8": "double precision", "double": "double precision", "real": "double precision", "tinytext": "text", "text": "text",
	"mediumtext": "text", "longtext": "text", "binary": "bytea", "varbinary": "bytea", "tinyblob": "bytea", "blob": "bytea",
	"mediumblob": "bytea", "longblob": "bytea", "date": "date", "json": "json", "enum": "text",
}

// mysqlUnsigned are the smallest types that hold all values of the unsigned ones.
var mysqlUnsigned = map[string]string{
	"smallint": "integer", "int": "bigint", "integer": "bigint", "bigint": "numeric ( 20 , 0 )",
}

func (t *translator) columnType(column string, c *sqlparser.ColumnType) {
	name := lex.Fold(c.Type)
	size := ""
	if c.Length != nil {
		size = strconv.Itoa(*c.Length)
	}
	switch name {
	case "decimal", "numeric", "dec", "fixed":
		t.w(decimalType(c.Length, c.Scale))
		return
	case "char", "varchar", "character varying", "nchar", "nvarchar": // MySQL strips the padding of char(n)
		if size == "" {
			size = "1"
		}
		t.w("varchar (", size, ")")
		return
	case "datetime", "timestamp":
		t.w("timestamp (", orZero(size), ")")
		return
	case "time":
		t.w("time (", orZero(size), ")")
		return
	case "bit":
		if size == "" {
			size = "1"
		}
		t.w("bit (", size, ")")
		return
	}
	if c.Unsigned {
		if wide := mysqlUnsigned[name]; wide != "" {
			t.w(wide)
			return
		}
	}
	to := mysqlTypes[name]
	if to == "" {
		t.refuse("type "+name+" of column "+folded(column), name)
		return
	}
	t.w(to)
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

func decimalType(length, scale *int) string {
	p, s := 10, 0
	if length != nil {
		p = *length
	}
	if scale != nil {
		s = *scale
	}
	return "numeric ( " + strconv.Itoa(p) + " , " + strconv.Itoa(s) + " )"
}

// cast writes CAST and CONVERT.
func (t *translator) cast(e sqlparser.Expr, c *sqlparser.ConvertType, array bool) {
	if array {
		t.refuse("CAST … AS … ARRAY", "cast")
		return
	}
	size := ""
	if c.Length != nil {
		size = strconv.Itoa(*c.Length)
	}
	to := ""
	switch lex.Fold(c.Type) {
	case "signed":
		to = "bigint"
	case "unsigned":
		t.unsigned(e)
		return
	case "char", "nchar":
		to = "text"
		if size != "" {
			to = "varchar ( " + size + " )"
		}
	case "date":
		to = "date"
	case "datetime":
		to = "timestamp ( " + orZero(size) + " )"
	case "time":
		to = "time ( " + orZero(size) + " )"
	case "decimal":
		to = decimalType(c.Length, c.Scale)
	case "float":
		to = "real"
	case "double", "real":
		to = "double precision"
	case "json":
		to = "json"
	default:
		t.refuse("CAST to "+c.Type, "cast", "convert")
		return
	}
	t.w("CAST (")
	switch b, ok := hasBytes(e); {
	case !ok:
		t.value(e)
	case strings.Contains(to, "char") || to == "text":
		t.bytesText(b)
	default:
		t.operand(e)
	}
	t.w("AS", to, ")")
}

// alterTable writes ALTER TABLE: RENAME alone, or any number of the rest.
func (t *translator) alterTable(n *sqlparser.AlterTable) {
	if n.PartitionSpec != nil || n.PartitionOption != nil {
		t.refuse("ALTER TABLE of partitions", "partition")
	}
	t.w("ALTER TABLE")
	t.tableName(n.Table)
	items := 0
	for _, o := range n.AlterOptions {
		switch o := o.(type) {
		case *sqlparser.KeyState, *sqlparser.LockOption, sqlparser.AlgorithmValue, *sqlparser.Force,
			*sqlparser.AlterCharset, *sqlparser.OrderByOption, *sqlparser.Validation:
			t.note("an option of ALTER TABLE is ignored")
			continue
		case sqlparser.TableOptions:
			t.tableOptions(&sqlparser.TableSpec{Options: o})
			continue
		case *sqlparser.AddIndexDefinition:
			if !t.indexed(o.IndexDefinition) {
				continue
			}
		}
		t.comma(items)
		items++
		t.alter(o, len(n.AlterOptions))
	}
	if items == 0 && t.err == nil {
		t.nothing("ALTER TABLE")
	}
}

func (t *translator) alter(o sqlparser.AlterOption, options int) {
	switch o := o.(type) {
	case *sqlparser.AddColumns:
		if o.First || o.After != nil {
			t.note("the place of an added column is ignored")
		}
		for i, c := range o.Columns {
			t.comma(i)
			t.w("ADD COLUMN")
			t.columnDef(c, "")
		}
	case *sqlparser.DropColumn:
		t.w("DROP COLUMN")
		t.ident(o.Name.Name.String())
	case *sqlparser.AddIndexDefinition:
		t.w("ADD")
		t.index(o.IndexDefinition)
	case *sqlparser.AddConstraintDefinition:
		t.w("ADD")
		t.constraint(o.ConstraintDefinition)
	case *sqlparser.AlterColumn:
		t.w("ALTER COLUMN")
		t.ident(o.Column.Name.String())
		switch {
		case o.DropDefault:
			t.w("DROP DEFAULT")
		case o.DefaultVal != nil:
			t.w("SET DEFAULT")
			t.value(o.DefaultVal)
		default:
			t.unknown(o)
		}
	case *sqlparser.RenameColumn:
		t.alone(options)
		t.w("RENAME COLUMN")
		t.ident(o.OldName.Name.String())
		t.w("TO")
		t.ident(o.NewName.Name.String())
	case *sqlparser.RenameTableName:
		t.alone(options)
		t.w("RENAME TO")
		t.ident(o.Table.Name.String())
	default:
		t.unknown(o)
	}
}

// alone refuses an action that must be the only one of an ALTER TABLE in Postgres.
func (t *translator) alone(options int) {
	if options > 1 {
		t.refuse("RENAME beside other changes", "rename")
	}
}
