package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/ddl/function"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Env is what defining objects needs of the session.
type Env struct {
	Bind    *bind.Session
	Session uint64
	// SessionUser is who logged in.
	SessionUser types.OID
	// NewOID gives the next free object identifier.
	NewOID func() (types.OID, error)
	// Partitions is the number of partitions of tables that name none.
	Partitions int
	Super      bool
	// Setting checks a value that sessions of a role are to begin with, and ResetSetting that there
	// is such a setting.
	Setting      func(name, value string) error
	ResetSetting func(name string) error
	// Password makes the verifier of a password, which may already be one.
	Password func(plain string) (string, error)
	// CheckBodies says that the bodies of SQL functions are bound when they are made; CheckBody checks those in
	// other languages.
	CheckBodies bool
	CheckBody   func(*catalog.Function) error
}

// Result is what a statement does.
type Result struct {
	Changes []catalog.Change
	Tag     string
	Notices []*pgerr.Error
	Checks  []Check
	Rewrite *Rewrite
	// TempSchema is set when the session's schema for temporary tables was made.
	TempSchema types.OID
	// DropAtCommit is set to a new table that the end of the transaction drops.
	DropAtCommit types.OID
}

// Check says that a table's rows must meet a constraint in the state after Changes.
type Check struct {
	Table      types.OID
	Kind       byte      // as Constraint.Kind; 'n' for NOT NULL
	Constraint types.OID // but for NOT NULL
	Column     int16     // of NOT NULL
}

// Rewrite replaces a table's rows by those of a query, columns in the order of the new
// descriptor's live ones.
type Rewrite struct {
	Table types.OID
	Query *plan.Query
	// After is how many of Changes the query sees, as the sequences whose values new
	// columns get.
	After int
	// Segments, if not 0, is how many segments of the same size to write at
	// least, so that they can be distributed to as many partitions.
	Segments int
}

type planner struct {
	env *Env
	st  *catalog.State // with the changes so far
	res *Result
	tag string // the statement's words
	// guards hold what a check saw until the commit.
	guards []catalog.Change
	// functions plans the statements about functions of the user.
	functions *function.Planner
}

func newPlanner(env *Env, tag string) *planner {
	p := &planner{env: env, st: env.Bind.State, res: &Result{}, tag: tag}
	p.functions = &function.Planner{Host: functionHost{p}}
	return p
}

// Plan finds what a statement does. An unsupported statement is 0A000.
func Plan(env *Env, stmt *parse.Statement) (*Result, error) {
	p := newPlanner(env, stmt.Tag())
	var err error
	switch n := stmt.Extension.(type) {
	case *parse.AlterTableRepartition:
		err = p.repartition(n)
	case *parse.DropModel:
		err = p.dropModel(n)
	case *parse.AlterModel:
		err = p.alterModel(n)
	default:
		err = p.statement(stmt.Node)
	}
	if err != nil {
		return nil, err
	}
	p.res.Changes = append(p.res.Changes, p.guards...)
	// PostgreSQL looks at rows as it writes them, else after it has built indexes.
	order := "puienc"
	if p.res.Rewrite != nil {
		order = "ncpuie"
	}
	slices.SortStableFunc(p.res.Checks, func(a, b Check) int {
		rank := func(c Check) int { return strings.IndexByte(order+"f", c.Kind) }
		return rank(a) - rank(b)
	})
	return p.res, nil
}

func (p *planner) statement(n ast.Stmt) error {
	switch n := n.(type) {
	case *ast.CreateSchemaStmt:
		return p.createSchema(n)
	case *ast.CreateStmt:
		return p.createTable(n)
	case *ast.IndexStmt:
		p.res.Tag = "CREATE INDEX"
		return p.createIndex(n)
	case *ast.ViewStmt:
		return p.createView(n)
	case *ast.CreateSeqStmt:
		return p.createSequence(n)
	case *ast.AlterSeqStmt:
		return p.alterSequence(n)
	case *ast.AlterTableStmt:
		return p.alterTable(n)
	case *ast.RenameStmt:
		return p.rename(n)
	case *ast.AlterObjectSchemaStmt:
		return p.setSchema(n)
	case *ast.AlterOwnerStmt:
		return p.setOwner(n)
	case *ast.DropStmt:
		return p.drop(n)
	case *ast.TruncateStmt:
		return p.truncate(n)
	case *ast.CommentStmt:
		return p.comment(n)
	case *ast.GrantStmt:
		return p.grant(n)
	case *ast.AlterDefaultPrivilegesStmt:
		return p.alterDefaultPrivileges(n)
	case *ast.GrantRoleStmt:
		return p.grantRole(n)
	case *ast.CreateRoleStmt:
		return p.createRole(n)
	case *ast.AlterRoleStmt:
		return p.alterRole(n)
	case *ast.AlterRoleSetStmt:
		return p.alterRoleSet(n)
	case *ast.DropRoleStmt:
		return p.dropRole(n)
	case *ast.ReassignOwnedStmt:
		return p.reassignOwned(n)
	case *ast.CreateEnumStmt:
		return p.createEnum(n)
	case *ast.AlterEnumStmt:
		return p.alterEnum(n)
	case *ast.CreateExtensionStmt:
		return p.createExtension(n)
	case *ast.CreateFunctionStmt:
		return p.functions.Create(n)
	case *ast.DefineStmt:
		if n.Kind == ast.OBJECT_AGGREGATE {
			return p.functions.CreateAggregate(n)
		}
	case *ast.AlterFunctionStmt:
		return p.functions.Alter(n)
	case *ast.CreateTriggerStmt:
		return pgerr.Unsupported("triggers are not supported")
	case *ast.CreatedbStmt:
		return pgerr.Unsupported("a cluster has one database").WithHint("Use schemas.")
	}
	return pgerr.Unsupported("%s is not supported", p.tag)
}

// add appends changes and moves the state on, so that later parts of the
// statement see them.
func (p *planner) add(cs ...catalog.Change) error {
	st, err := p.st.Apply(cs)
	if err != nil {
		return err
	}
	p.st = st
	p.env.Bind.State = st
	p.res.Changes = append(p.res.Changes, cs...)
	return nil
}

func (p *planner) notice(format string, args ...any) {
	p.res.Notices = append(p.res.Notices, pgerr.New(pgerr.SuccessfulCompletion, format, args...).WithSeverity(pgerr.SevNotice))
}

func (p *planner) pos(parts ...string) int {
	if t := p.env.Bind.Text; t != nil {
		return t.FindIdent(parts...)
	}
	return 0
}

// schemaFor returns the schema that a new object goes to.
func (p *planner) schemaFor(rv *ast.RangeVar) (*catalog.Schema, error) {
	if _, _, err := catalog.RelationName(rv.CatalogName, rv.SchemaName, rv.RelName); err != nil {
		return nil, pgerr.From(err).At(p.pos(rv.CatalogName, rv.SchemaName, rv.RelName))
	}
	temp := rv.RelPersistence == 't' || rv.SchemaName == "pg_temp"
	if temp {
		if rv.SchemaName != "" && rv.SchemaName != "pg_temp" {
			return nil, pgerr.New(pgerr.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema")
		}
		return p.tempSchema()
	}
	if rv.SchemaName != "" {
		sc := p.st.SchemaByName(rv.SchemaName)
		if sc == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", rv.SchemaName).At(p.pos(rv.SchemaName))
		}
		return sc, p.mayCreate(sc)
	}
	for _, name := range p.env.Bind.SearchPath {
		if sc := p.st.SchemaByName(name); sc != nil && sc.OID != p.env.Bind.TempSchema {
			return sc, p.mayCreate(sc)
		}
	}
	return nil, pgerr.New(pgerr.InvalidSchemaName, "no schema has been selected to create in").At(p.pos(rv.RelName))
}

func (p *planner) mayCreate(sc *catalog.Schema) error {
	switch sc.OID {
	case catalog.PgCatalogOID, catalog.InformationOID, catalog.MLSchemaOID, catalog.ClusterSchemaOID:
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name).
			WithDetail("System catalog modifications are currently disallowed.")
	}
	if sc.OID == p.env.Bind.TempSchema || p.may(sc.Object(), 'C') {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
}

// may reports whether the role has a privilege on an object.
func (p *planner) may(o catalog.Object, letter byte) bool {
	return p.st.May(p.env.Bind.Role, o, letter)
}

// owns reports whether the role is an object's owner, or has what it has.
func (p *planner) owns(owner types.OID) bool { return p.st.Inherits(p.env.Bind.Role, owner) }

// mustOwn fails with 42501 unless the role owns an object.
func (p *planner) mustOwn(owner types.OID, kind, name string) error {
	if p.owns(owner) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", kind, name)
}

// mustBe fails with 42501 unless the role may become another.
func (p *planner) mustBe(role types.OID) error {
	if r := p.st.Role(role); r != nil && !p.st.MemberOf(p.env.Bind.Role, role) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be member of role %q", r.Name)
	}
	return nil
}

// mayReceive fails unless the role may give an object of a schema to a new owner,
// who must be able to make it there.
func (p *planner) mayReceive(owner types.OID, sc *catalog.Schema) error {
	if err := p.mustBe(owner); err != nil || p.env.Super || sc == nil {
		return err
	}
	if !p.st.May(owner, sc.Object(), 'C') {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", sc.Name)
	}
	return nil
}

// warn adds a warning to what the client is told.
func (p *planner) warn(code pgerr.Code, format string, args ...any) {
	p.res.Notices = append(p.res.Notices, pgerr.New(code, format, args...).WithSeverity(pgerr.SevWarning))
}

func (p *planner) tempSchema() (*catalog.Schema, error) {
	if sc := p.st.Schema(p.env.Bind.TempSchema); sc != nil {
		return sc, nil
	}
	if !p.may(p.st.Database().Object(), 'T') {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create temporary tables in database %q", catalog.DatabaseName)
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return nil, err
	}
	sc := &catalog.Schema{OID: oid, Name: fmt.Sprintf("pg_temp_%d", p.env.Session), Owner: catalog.BootstrapRoleOID}
	p.res.TempSchema, p.env.Bind.TempSchema = oid, oid
	p.env.Bind.SearchPath = append([]string{sc.Name}, p.env.Bind.SearchPath...)
	return sc, p.add(&catalog.PutSchema{Schema: sc})
}

// relation finds an existing relation as a statement names it; nil if there is
// none.
func (p *planner) relation(rv *ast.RangeVar) (*catalog.Relation, error) {
	return p.env.Bind.Relation(rv)
}

func rangeName(rv *ast.RangeVar) string {
	if rv.SchemaName != "" {
		return rv.SchemaName + "." + rv.RelName
	}
	return rv.RelName
}

// existing finds a relation or fails with 42P01.
func (p *planner) existing(rv *ast.RangeVar) (*catalog.Relation, error) {
	if r, err := p.relation(rv); r != nil || err != nil {
		return r, err
	}
	if rv.SchemaName != "" && p.st.SchemaByName(rv.SchemaName) == nil && rv.SchemaName != "pg_temp" {
		return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", rangeName(rv)).At(p.pos(rv.SchemaName))
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", rangeName(rv)).At(p.pos(rv.RelName))
}

// owned fails with 42501 unless the role owns the relation.
func (p *planner) owned(r *catalog.Relation) error {
	return p.mustOwn(r.Owner, kindName(r.Kind), r.Name)
}

func kindName(k catalog.RelKind) string {
	switch k {
	case catalog.KindView:
		return "view"
	case catalog.KindMatView:
		return "materialized view"
	case catalog.KindSequence:
		return "sequence"
	case catalog.KindIndex:
		return "index"
	case catalog.KindComposite:
		return "type"
	}
	return "table"
}

// freeName returns base_…_suffix, with a number where that name is taken, cut to
// 63 bytes as PostgreSQL cuts.
func (p *planner) freeName(schema types.OID, parts []string, suffix string, taken func(string) bool) string {
	base := strings.Join(parts, "_")
	for i := 0; ; i++ {
		s := "_" + suffix
		if i > 0 {
			s = fmt.Sprintf("_%s%d", suffix, i)
		}
		b := base
		if len(b)+len(s) > 63 {
			b = b[:63-len(s)]
		}
		if name := b + s; p.st.Relation(schema, name) == nil && (taken == nil || !taken(name)) {
			return name
		}
	}
}

// taken reports whether a relation of that name is there; with IF NOT EXISTS
// that is a notice.
func (p *planner) taken(sc *catalog.Schema, name string, ifNot bool) (skip bool, err error) {
	if p.st.Relation(sc.OID, name) == nil {
		return false, nil
	}
	if ifNot {
		n := pgerr.New(pgerr.DuplicateTable, "relation %q already exists, skipping", name).WithSeverity(pgerr.SevNotice)
		p.res.Notices = append(p.res.Notices, n)
		return true, nil
	}
	return false, pgerr.New(pgerr.DuplicateTable, "relation %q already exists", name)
}

// rewrite has a table's rows made anew; using as in bind.Rewrite.
func (p *planner) rewrite(was, now *catalog.Relation, using map[int16]string, segments int) error {
	b := *p.env.Bind
	b.Trusted, b.Dialect = true, parse.Postgres
	q, err := bind.Rewrite(&b, was, now, using)
	if err != nil {
		return err
	}
	p.res.Rewrite = &Rewrite{Table: now.OID, Query: q, After: len(p.res.Changes), Segments: segments}
	p.guards = append(p.guards, &catalog.Guard{Table: now.OID, Since: p.st.Version(), Appends: true, Deletes: true})
	return nil
}

// check has a table's rows looked at that a constraint may not hold for.
func (p *planner) check(rel *catalog.Relation, k *catalog.Constraint) {
	p.look(Check{Table: rel.OID, Kind: k.Kind, Constraint: k.OID})
}

func (p *planner) checkNotNull(rel *catalog.Relation, num int16) {
	p.look(Check{Table: rel.OID, Kind: 'n', Column: num})
}

// look has a table's rows looked at, and no others come before the commit.
func (p *planner) look(c Check) {
	if !slices.Contains(p.res.Checks, c) {
		p.res.Checks = append(p.res.Checks, c)
		p.guards = append(p.guards, &catalog.Guard{Table: c.Table, Since: p.st.Version(), Appends: true})
	}
}

// functionHost is the planner as package function sees it.
type functionHost struct{ *planner }

func (p functionHost) Bind() *bind.Session            { return p.env.Bind }
func (p functionHost) State() *catalog.State          { return p.st }
func (p functionHost) Super() bool                    { return p.env.Super }
func (p functionHost) Tag(s string)                   { p.res.Tag = s }
func (p functionHost) Add(cs ...catalog.Change) error { return p.add(cs...) }
func (p functionHost) NewOID() (types.OID, error)     { return p.env.NewOID() }
func (p functionHost) Notice(f string, args ...any)   { p.notice(f, args...) }
func (p functionHost) Warning(c pgerr.Code, f string, args ...any) {
	p.warn(c, f, args...)
}
func (p functionHost) Owns(owner types.OID) bool          { return p.owns(owner) }
func (p functionHost) May(o catalog.Object, l byte) bool  { return p.may(o, l) }
func (p functionHost) MayCreate(sc *catalog.Schema) error { return p.mayCreate(sc) }
func (p functionHost) Lasting() []string                  { return p.lasting() }
func (p functionHost) Cascades(what []string)             { p.cascadeNotice(what) }
func (p functionHost) Check(f *catalog.Function) (error, bool) {
	if f.Language == catalog.LanguageSQL || p.env.CheckBody == nil {
		return nil, p.env.CheckBodies
	}
	return p.env.CheckBody(f), false
}
func (p functionHost) Setting(name, value string) error {
	if p.env.Setting == nil {
		return nil
	}
	return p.env.Setting(name, value)
}
func (p functionHost) NameIn(schema types.OID, name string) string         { return p.nameIn(schema, name) }
func (p functionHost) SchemaFor(rv *ast.RangeVar) (*catalog.Schema, error) { return p.schemaFor(rv) }
func (p functionHost) UsableType(n *ast.TypeName) (types.Type, error)      { return p.usableType(n) }
func (p functionHost) MustOwn(o types.OID, kind, name string) error        { return p.mustOwn(o, kind, name) }
func (p functionHost) MayReceive(o types.OID, sc *catalog.Schema) error    { return p.mayReceive(o, sc) }
func (p functionHost) Undo() func() {
	st, b := p.st, p.env.Bind.State
	return func() { p.st, p.env.Bind.State = st, b }
}
