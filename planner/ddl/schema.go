package ddl

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// acceptable refuses a schema's name that is the system's.
func acceptable(schema string) error {
	if strings.HasPrefix(schema, "pg_") {
		return pgerr.New(pgerr.ReservedName, "unacceptable schema name %q", schema).WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	}
	return nil
}

func (p *planner) createSchema(n *ast.CreateSchemaStmt) error {
	p.res.Tag = "CREATE SCHEMA"
	owner, err := p.roleSpec(n.Authrole)
	if err != nil {
		return err
	}
	name := n.Schemaname
	if name == "" {
		if r := p.st.Role(owner); r != nil {
			name = r.Name
		}
	}
	if err := acceptable(name); err != nil {
		return err
	}
	if p.st.SchemaByName(name) != nil {
		if n.IfNotExists {
			p.res.Notices = append(p.res.Notices, pgerr.New(pgerr.DuplicateSchema, "schema %q already exists, skipping", name).WithSeverity(pgerr.SevNotice))
			return nil
		}
		return pgerr.New(pgerr.DuplicateSchema, "schema %q already exists", name)
	}
	if err := p.mayMakeSchemas(p.env.Bind.Role); err != nil {
		return err
	}
	if err := p.mustBe(owner); err != nil {
		return err
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return err
	}
	if err := p.add(&catalog.PutSchema{Schema: &catalog.Schema{OID: oid, Name: name, Owner: owner, ACL: p.st.NewACL(catalog.ClassSchema, owner, 0)}}); err != nil {
		return err
	}
	path := p.env.Bind.SearchPath
	p.env.Bind.SearchPath = append([]string{name}, path...)
	for _, e := range items(n.SchemaElts) {
		if err := p.statement(e.(ast.Stmt)); err != nil {
			return err
		}
	}
	p.env.Bind.SearchPath = path
	p.res.Tag = "CREATE SCHEMA"
	return nil
}

// mayMakeSchemas fails with 42501 unless a role may make schemas.
func (p *planner) mayMakeSchemas(role types.OID) error {
	if p.st.May(role, p.st.Database().Object(), 'C') {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database %s", catalog.DatabaseName)
}

// createExtension knows the one extension of PostgreSQL's whose relation is always there.
func (p *planner) createExtension(n *ast.CreateExtensionStmt) error {
	p.res.Tag = "CREATE EXTENSION"
	switch {
	case n.Extname != "pg_stat_statements":
		return pgerr.Unsupported("extensions are not supported")
	case !n.IfNotExists:
		return pgerr.New(pgerr.DuplicateObject, "extension %q already exists", n.Extname)
	}
	p.notice("extension %q already exists, skipping", n.Extname)
	return nil
}
