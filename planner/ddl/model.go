package ddl

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// modelNamed finds a model, nil with a notice where one need not be there.
func (p *planner) modelNamed(name []string, ifExists bool) (*catalog.Model, error) {
	schema, last, err := catalog.ObjectName(name...)
	m, err := onPath(p, ast.NewRangeVar(last, schema, ""), err, "model", p.st.Model)
	if err != nil && ifExists {
		p.notice("model \"%s\" does not exist, skipping", strings.Join(name, "."))
		return nil, nil
	}
	return m, err
}

func (p *planner) dropModel(n *parse.DropModel) error {
	p.res.Tag = "DROP MODEL"
	for _, name := range n.Names {
		m, err := p.modelNamed(name, n.IfExists)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		if sc := p.st.Schema(m.Schema); sc == nil || !p.owns(sc.Owner) { // whose owner may drop what is in it
			if err := p.mustOwn(m.Owner, "model", m.Name); err != nil {
				return err
			}
		}
		if n.Versions != nil {
			err = p.dropVersions(m, n)
		} else {
			err = p.add(&catalog.DropModel{OID: m.OID, ExpectVersion: m.Version})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropVersions takes versions from a model. The default one stays: what everybody
// predicts with changes by ALTER MODEL only.
func (p *planner) dropVersions(m *catalog.Model, n *parse.DropModel) error {
	up := m.Bare()
	up.Last = m.Next() - 1
	var drop []int
	for _, number := range n.Versions {
		v := m.Find(int(number))
		there := v != nil && int64(v.Number) == number && !slices.Contains(drop, v.Number)
		switch {
		case !there && n.IfExists:
			p.notice("model %q has no version %d, skipping", m.Name, number)
			continue
		case !there:
			return m.NoVersion(int(number))
		case int64(m.Default) == number:
			err := pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop version %d of model %q: it is the default version", number, m.Name)
			if len(m.Versions) == 1 {
				return err.WithHint("DROP MODEL without VERSION drops the model.")
			}
			return err.WithHint("Choose another one first: ALTER MODEL %s SET DEFAULT VERSION n.", lex.QuoteName(m.Name))
		case m.AliasesOf(v.Number) != nil:
			alias := m.AliasesOf(v.Number)[0]
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop version %d of model %q: it has the alias %q", number, m.Name, alias).
				WithHint("Take the alias away first: ALTER MODEL %s DROP ALIAS %s.", lex.QuoteName(m.Name), lex.QuoteName(alias))
		}
		drop = append(drop, v.Number)
	}
	if drop == nil {
		return nil
	}
	return p.add(&catalog.ChangeModel{Model: up, ExpectVersion: m.Version, Drop: drop})
}

func (p *planner) alterModel(n *parse.AlterModel) error {
	p.res.Tag = "ALTER MODEL"
	m, err := p.modelNamed(n.Name, n.IfExists)
	if m == nil {
		return err
	}
	if err := p.mustOwn(m.Owner, "model", m.Name); err != nil {
		return err
	}
	up := m.Bare()
	var changes []catalog.Change
	switch {
	case n.RenameTo != "":
		if p.st.Model(m.Schema, n.RenameTo) != nil {
			return pgerr.New(pgerr.DuplicateObject, "model %q already exists", n.RenameTo)
		}
		if changes, err = textsOf(p).ModelRenamed(m, n.RenameTo); err != nil {
			return err
		}
		up.Name = n.RenameTo
	case n.OwnerTo != "":
		to, err := p.ownerNamed(n.OwnerTo)
		if err == nil {
			err = p.mayReceive(to, p.st.Schema(m.Schema))
		}
		if err != nil {
			return err
		}
		up.ACL, up.Owner = m.Object().Reown(to), to
	case n.SetAlias != "":
		if first, _ := utf8.DecodeRuneInString(n.SetAlias); first != '_' && !unicode.IsLetter(first) ||
			strings.ContainsAny(n.SetAlias, "@.") || strings.ContainsFunc(n.SetAlias, unicode.IsSpace) {
			return pgerr.New(pgerr.InvalidName, "%q cannot be an alias of a version", n.SetAlias).At(n.AliasPos).WithHint("It stands after the @ of a model's name: it begins with a letter or _, and has no white space, no @ and no point.")
		}
		if _, err := m.Want(int(n.AliasVersion)); err != nil {
			return err
		}
		up.Aliases = append(withoutAlias(m, n.SetAlias), catalog.ModelAlias{Name: n.SetAlias, Number: int(n.AliasVersion)})
		slices.SortFunc(up.Aliases, func(a, b catalog.ModelAlias) int { return strings.Compare(a.Name, b.Name) })
	case n.DropAlias != "":
		if up.Aliases = withoutAlias(m, n.DropAlias); len(up.Aliases) == len(m.Aliases) {
			return m.NoAlias(n.DropAlias)
		}
	default:
		if _, err := m.Want(int(n.DefaultVersion)); err != nil {
			return err
		}
		up.Default = int(n.DefaultVersion)
	}
	return p.add(append(changes, &catalog.ChangeModel{Model: up, ExpectVersion: m.Version})...)
}

// withoutAlias returns a model's aliases but for one.
func withoutAlias(m *catalog.Model, name string) []catalog.ModelAlias {
	return slices.DeleteFunc(slices.Clone(m.Aliases), func(a catalog.ModelAlias) bool { return a.Name == name })
}

// ownerNamed finds the role that OWNER TO names in a statement of our own.
func (p *planner) ownerNamed(name string) (types.OID, error) {
	spec := &ast.RoleSpec{Roletype: ast.ROLESPEC_CSTRING, Rolename: name}
	switch name {
	case "current_user", "current_role":
		spec.Roletype = ast.ROLESPEC_CURRENT_USER
	case "session_user":
		spec.Roletype = ast.ROLESPEC_SESSION_USER
	}
	return p.roleSpec(spec)
}
