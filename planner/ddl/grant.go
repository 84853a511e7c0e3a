package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// granting is a GRANT or REVOKE while it is carried out.
type granting struct {
	p       *planner
	grant   bool
	option  bool // WITH GRANT OPTION, GRANT OPTION FOR
	cascade bool
	all     bool // ALL PRIVILEGES: what cannot be granted is left out in silence
	to      []types.OID
	privs   string // of whole objects
	columns []columnPriv
}

// columnPriv is a privilege on columns.
type columnPriv struct {
	letter string // several for ALL
	all    bool
	names  []string
}

var privLetters = map[string]byte{"select": 'r', "insert": 'a', "update": 'w', "delete": 'd', "truncate": 'D', "references": 'x', "trigger": 't',
	"usage": 'U', "create": 'C', "connect": 'c', "temporary": 'T', "temp": 'T', "execute": 'X'}

// classNames are how messages call the classes.
var classNames = map[catalog.Class]string{catalog.ClassTable: "relation", catalog.ClassColumn: "column", catalog.ClassSequence: "sequence",
	catalog.ClassSchema: "schema", catalog.ClassType: "type", catalog.ClassDatabase: "database", catalog.ClassModel: "model", catalog.ClassFunction: "function", catalog.ClassSecret: "secret"}

// grant handles GRANT and REVOKE on objects.
func (p *planner) grant(n *ast.GrantStmt) error {
	p.res.Tag = "GRANT"
	if !n.IsGrant {
		p.res.Tag = "REVOKE"
	}
	if n.Grantor != nil {
		if by, err := p.roleSpec(n.Grantor); err != nil {
			return err
		} else if by != p.env.Bind.Role {
			return pgerr.Unsupported("grantor must be current user")
		}
	}
	var class catalog.Class
	switch n.Objtype {
	case ast.OBJECT_TABLE:
		class = catalog.ClassTable
	case ast.OBJECT_SEQUENCE:
		class = catalog.ClassSequence
	case ast.OBJECT_SCHEMA:
		class = catalog.ClassSchema
	case ast.OBJECT_DATABASE:
		class = catalog.ClassDatabase
	case ast.OBJECT_TYPE:
		class = catalog.ClassType
	case parse.ObjectModel:
		class = catalog.ClassModel
	case parse.ObjectSecret:
		class = catalog.ClassSecret
	case ast.OBJECT_FUNCTION, ast.OBJECT_ROUTINE:
		class = catalog.ClassFunction
	default:
		return pgerr.Unsupported("GRANT on this kind of object is not supported")
	}
	g, err := p.granting(n, class)
	if err != nil {
		return err
	}
	switch class {
	case catalog.ClassTable, catalog.ClassSequence:
		rels, err := p.grantRelations(n)
		if err != nil {
			return err
		}
		for _, r := range rels {
			if err := g.relation(p.st.RelationByOID(r.OID), class); err != nil {
				return err
			}
		}
		return nil
	case catalog.ClassFunction:
		list, err := p.functions.Granted(n)
		if err != nil {
			return err
		}
		for _, f := range list {
			up := *p.st.Function(f.OID)
			if up.ACL, err = g.change(up.Object(), g.privs, g.all, f.Name); err == nil {
				err = p.add(&catalog.PutFunction{Function: &up})
			}
			if err != nil {
				return err
			}
		}
		return nil
	case catalog.ClassModel:
		models, err := p.grantModels(n)
		if err != nil {
			return err
		}
		for _, m := range models {
			up := m.Bare()
			if up.ACL, err = g.change(m.Object(), g.privs, g.all, m.Name); err == nil {
				err = p.add(&catalog.ChangeModel{Model: up, ExpectVersion: m.Version})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range items(n.Objects) {
		switch class {
		case catalog.ClassSecret:
			rv, err := relationName(o)
			if err != nil {
				return err
			}
			x := catalog.SecretNamed(p.st, rv.RelName)
			if x == nil || rv.SchemaName != "" {
				return pgerr.New(pgerr.UndefinedObject, "secret %q does not exist", rv.RelName)
			}
			up := *x
			if up.ACL, err = g.change(x.Object(), g.privs, g.all, x.Name); err != nil {
				return err
			}
			if err = p.add(&catalog.PutSecret{Secret: &up, ExpectVersion: x.Version}); err != nil {
				return err
			}
		case catalog.ClassSchema:
			sc := p.st.SchemaByName(text(o))
			if sc == nil {
				return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(o))
			}
			up := *sc
			if up.ACL, err = g.change(sc.Object(), g.privs, g.all, sc.Name); err == nil {
				err = p.add(&catalog.PutSchema{Schema: &up})
			}
		case catalog.ClassDatabase:
			if text(o) != catalog.DatabaseName {
				return pgerr.New(pgerr.InvalidCatalogName, "database %q does not exist", text(o))
			}
			db := p.st.Database()
			if db.ACL, err = g.change(db.Object(), g.privs, g.all, catalog.DatabaseName); err == nil {
				err = p.add(&catalog.PutDatabase{Database: db})
			}
		default:
			var e *catalog.EnumType
			if e, err = p.enum(o); err == nil {
				up := *e
				if up.ACL, err = g.change(e.Object(), g.privs, g.all, e.Name); err == nil {
					err = p.add(&catalog.PutEnum{Enum: &up})
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// granting reads what a statement grants to whom.
func (p *planner) granting(n *ast.GrantStmt, class catalog.Class) (*granting, error) {
	g := &granting{p: p, grant: n.IsGrant, option: n.GrantOption, cascade: n.Behavior == ast.DropCascade}
	for _, x := range items(n.Grantees) {
		if spec, ok := x.(*ast.RoleSpec); ok {
			oid, err := p.roleSpec(spec)
			if err != nil {
				return nil, err
			}
			g.to = append(g.to, oid)
		}
	}
	allowed := class.Privileges()
	if class == catalog.ClassTable {
		allowed += "U" // of sequences, which may be called tables here
	}
	var letters []byte
	for _, x := range items(n.Privileges) {
		ap, ok := x.(*ast.AccessPriv)
		if !ok {
			continue
		}
		l := privLetters[strings.ToLower(ap.PrivName)]
		if cols := texts(ap.Cols); len(cols) > 0 {
			what := catalog.ClassColumn.Privileges()
			switch {
			case class != catalog.ClassTable:
				return nil, pgerr.New(pgerr.InvalidGrantOperation, "column privileges are only valid for relations")
			case ap.PrivName == "":
				g.columns = append(g.columns, columnPriv{what, true, cols})
				continue
			case l == 0 || strings.IndexByte(what, l) < 0:
				return nil, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for column", strings.ToUpper(ap.PrivName))
			}
			g.columns = append(g.columns, columnPriv{string(l), false, cols})
			continue
		}
		if l == 0 || strings.IndexByte(allowed, l) < 0 {
			return nil, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s", strings.ToUpper(ap.PrivName), classNames[class])
		}
		letters = append(letters, l)
	}
	g.privs = string(letters)
	if len(items(n.Privileges)) == 0 {
		g.privs, g.all = class.Privileges(), true
	}
	return g, nil
}

// grantRelations finds the relations of a GRANT.
func (p *planner) grantRelations(n *ast.GrantStmt) ([]*catalog.Relation, error) {
	var rels []*catalog.Relation
	sequences := n.Objtype == ast.OBJECT_SEQUENCE
	for _, o := range items(n.Objects) {
		if n.Targtype == ast.ACL_TARGET_ALL_IN_SCHEMA {
			sc := p.st.SchemaByName(text(o))
			if sc == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(o))
			}
			for _, r := range p.st.Relations() {
				if r.Schema == sc.OID && r.Kind != catalog.KindIndex && r.Kind != catalog.KindComposite && (r.Kind == catalog.KindSequence) == sequences {
					rels = append(rels, r)
				}
			}
			continue
		}
		r, err := p.existingNamed(o)
		switch {
		case err != nil:
			return nil, err
		case r.Kind == catalog.KindIndex:
			return nil, pgerr.New(pgerr.WrongObjectType, "%q is an index", r.Name)
		case sequences && r.Kind != catalog.KindSequence:
			return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a sequence", r.Name)
		}
		rels = append(rels, r)
	}
	return rels, nil
}

// grantModels finds the models of a GRANT.
func (p *planner) grantModels(n *ast.GrantStmt) ([]*catalog.Model, error) {
	var out []*catalog.Model
	for _, o := range items(n.Objects) {
		if n.Targtype == ast.ACL_TARGET_ALL_IN_SCHEMA {
			sc := p.st.SchemaByName(text(o))
			if sc == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(o))
			}
			for _, m := range p.st.Models() {
				if m.Schema == sc.OID {
					out = append(out, m)
				}
			}
			continue
		}
		m, err := p.model(o)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// model finds a model or fails with 42704.
func (p *planner) model(n ast.Node) (*catalog.Model, error) {
	rv, err := relationName(n)
	return onPath(p, rv, err, "model", p.st.Model)
}

// relation changes the privileges on a relation and on its columns.
func (g *granting) relation(r *catalog.Relation, class catalog.Class) error {
	up := r.Clone()
	o := r.Object()
	privs := g.privs
	if class == catalog.ClassTable && r.Kind == catalog.KindSequence {
		if g.all {
			privs = o.Class.Privileges()
		} else if strings.Trim(privs, "rwU") != "" {
			g.p.warn(pgerr.InvalidGrantOperation, "sequence %q only supports USAGE, SELECT, and UPDATE privileges", r.Name)
			privs = keep(privs, "rwU")
		}
	} else if strings.Contains(privs, "U") && r.Kind != catalog.KindSequence {
		return pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s", "USAGE", "table")
	}
	columns := map[int16]string{}
	if privs != "" {
		var err error
		if up.ACL, err = g.change(o, privs, g.all, r.Name); err != nil {
			return err
		}
		if !g.grant && r.Kind != catalog.KindSequence {
			// What is revoked of the whole is revoked of each column too, the system's
			// ones included, of which tableoid is the first.
			if _, _, err := g.columnGrantor(r, &catalog.Column{Name: "tableoid"}, keep(privs, catalog.ClassColumn.Privileges())); err != nil {
				return err
			}
			for _, c := range r.Live() {
				if len(c.ACL) > 0 {
					columns[c.Num] = keep(privs, catalog.ClassColumn.Privileges())
				}
			}
		}
	}
	named := map[int16]bool{}
	for _, cp := range g.columns {
		if r.Kind == catalog.KindSequence {
			g.p.warn(pgerr.InvalidGrantOperation, "sequence %q only supports SELECT column privileges", r.Name)
			continue
		}
		for _, name := range cp.names {
			c := r.Column(name)
			if c == nil {
				return pgerr.New(pgerr.UndefinedColumn, "column %q of relation %q does not exist", name, r.Name)
			}
			columns[c.Num] += cp.letter
			named[c.Num] = named[c.Num] || !cp.all
		}
	}
	for i := range up.Columns {
		c := &up.Columns[i]
		if columns[c.Num] == "" {
			continue
		}
		acl, err := g.changeColumn(r, c, columns[c.Num], !named[c.Num])
		if err != nil {
			return err
		}
		c.ACL = acl
	}
	return g.p.add(&catalog.PutRelation{Rel: up, ExpectVersion: r.Version})
}

func keep(privs, of string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(of, r) {
			return r
		}
		return -1
	}, privs)
}

// change applies the statement to an object's grants.
func (g *granting) change(o catalog.Object, privs string, all bool, name string) ([]catalog.Grant, error) {
	grantor, can := g.p.st.BestGrantor(g.p.env.Bind.Role, o, privs)
	if can == "" && !g.p.st.MayAny(g.p.env.Bind.Role, o) {
		kind := classNames[o.Class]
		if o.Class == catalog.ClassTable {
			kind = "table"
		}
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", kind, name)
	}
	g.restricted(privs, can, all, name)
	return g.applied(o, grantor, can)
}

// changeColumn is change for a column.
func (g *granting) changeColumn(r *catalog.Relation, c *catalog.Column, privs string, all bool) ([]catalog.Grant, error) {
	grantor, can, err := g.columnGrantor(r, c, privs)
	if err != nil {
		return nil, err
	}
	g.restricted(privs, can, all, c.Name)
	return g.applied(c.Object(r), grantor, can)
}

// columnGrantor chooses as whom privileges on a column are granted: a grant option
// on the whole relation counts too.
func (g *granting) columnGrantor(r *catalog.Relation, c *catalog.Column, privs string) (types.OID, string, error) {
	role := g.p.env.Bind.Role
	both := catalog.Object{Class: catalog.ClassColumn, Owner: r.Owner, ACL: append(slices.Clone(r.Object().Grants()), c.ACL...), Bare: true}
	grantor, can := g.p.st.BestGrantor(role, both, privs)
	if can == "" && !g.p.st.MayAny(role, both) {
		return 0, "", pgerr.New(pgerr.InsufficientPrivilege, "permission denied for column %q of relation %q", c.Name, r.Name)
	}
	return grantor, can, nil
}

func (g *granting) applied(o catalog.Object, grantor types.OID, privs string) ([]catalog.Grant, error) {
	if privs == "" {
		return o.ACL, nil
	}
	if g.grant {
		return o.Grant(grantor, g.to, privs, g.option)
	}
	return o.Revoke(grantor, g.to, privs, g.option, g.cascade)
}

// restricted warns of privileges that the role cannot pass on.
func (g *granting) restricted(privs, can string, all bool, name string) {
	code, done := pgerr.PrivilegeNotGranted, "granted"
	if !g.grant {
		code, done = pgerr.PrivilegeNotRevoked, "revoked"
	}
	switch {
	case can == "" && g.grant:
		g.p.warn(code, "no privileges were granted for %q", name)
	case can == "":
		g.p.warn(code, "no privileges could be revoked for %q", name)
	case !all && keep(privs, can) != privs && g.grant:
		g.p.warn(code, "not all privileges were %s for %q", done, name)
	case !all && keep(privs, can) != privs:
		g.p.warn(code, "not all privileges could be %s for %q", done, name)
	}
}

// alterDefaultPrivileges handles ALTER DEFAULT PRIVILEGES.
func (p *planner) alterDefaultPrivileges(n *ast.AlterDefaultPrivilegesStmt) error {
	p.res.Tag = "ALTER DEFAULT PRIVILEGES"
	var class catalog.Class
	switch n.Action.Objtype {
	case ast.OBJECT_TABLE:
		class = catalog.ClassTable
	case ast.OBJECT_SEQUENCE:
		class = catalog.ClassSequence
	case ast.OBJECT_TYPE:
		class = catalog.ClassType
	case ast.OBJECT_SCHEMA:
		class = catalog.ClassSchema
	case ast.OBJECT_FUNCTION:
		class = catalog.ClassFunction
	case parse.ObjectModel:
		class = catalog.ClassModel
	default:
		return pgerr.Unsupported("default privileges of this kind of object are not supported")
	}
	g, err := p.granting(n.Action, class)
	if err != nil {
		return err
	}
	if class == catalog.ClassTable && strings.Contains(g.privs, "U") {
		return pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type USAGE for relation")
	}
	if len(g.columns) > 0 {
		return pgerr.New(pgerr.InvalidGrantOperation, "default privileges cannot be set for columns")
	}
	roles, schemas := []types.OID{p.env.Bind.Role}, []types.OID{0}
	for _, o := range items(n.Options) {
		d, ok := o.(*ast.DefElem)
		if !ok {
			continue
		}
		list, _ := d.Arg.(*ast.NodeList)
		switch d.Defname {
		case "roles":
			roles = nil
			for _, r := range roleList(list) {
				oid, err := p.roleSpec(r)
				if err != nil {
					return err
				}
				if err := p.mustBe(oid); err != nil {
					return err
				}
				roles = append(roles, oid)
			}
		case "schemas":
			schemas = nil
			if class == catalog.ClassSchema {
				return pgerr.New(pgerr.InvalidGrantOperation, "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS")
			}
			for _, name := range texts(list) {
				sc := p.st.SchemaByName(name)
				if sc == nil {
					return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", name)
				}
				schemas = append(schemas, sc.OID)
			}
		}
	}
	for _, role := range roles {
		for _, sc := range schemas {
			k := catalog.DefaultKey{Role: role, Schema: sc, Class: class}
			o := catalog.Object{Class: class, Owner: role, ACL: p.st.DefaultOf(k), Bare: sc != 0}
			acl, err := g.applied(o, role, g.privs)
			if err != nil {
				return err
			}
			if err := p.add(&catalog.PutDefaultGrants{Grants: catalog.DefaultGrants{Key: k, ACL: acl}}); err != nil {
				return err
			}
		}
	}
	return nil
}
