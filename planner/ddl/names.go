package ddl

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
)

// What a statement's tree holds.
var (
	items = typing.Items
	text  = parse.ConstText
	texts = typing.Texts
)

// relationName takes a relation's name from the form a statement has it in.
func relationName(n ast.Node) (*ast.RangeVar, error) { return named(n, catalog.RelationName) }

// typeName is relationName of a type.
func typeName(n ast.Node) (*ast.RangeVar, error) { return named(n, catalog.ObjectName) }

func named(n ast.Node, take func(...string) (string, string, error)) (*ast.RangeVar, error) {
	var parts []string
	switch n := n.(type) {
	case *ast.RangeVar:
		return n, nil // whoever looks it up takes it apart
	case *ast.TypeName:
		parts = texts(n.Names)
	case *ast.NodeList:
		parts = texts(n)
	default:
		parts = []string{text(n)}
	}
	schema, name, err := take(parts...)
	if err != nil {
		return nil, err
	}
	return ast.NewRangeVar(name, schema, ""), nil
}

// existingNamed is existing of a name in any form.
func (p *planner) existingNamed(n ast.Node) (*catalog.Relation, error) {
	rv, err := relationName(n)
	if err != nil {
		return nil, err
	}
	return p.existing(rv)
}

// columnOf takes table.column apart, the table's name qualified or not.
func (p *planner) columnOf(parts []string) (*catalog.Relation, string, error) {
	n := len(parts) - 1
	schema, name, err := catalog.RelationName(parts[:n]...)
	if err != nil {
		return nil, "", err
	}
	rel, err := p.existing(ast.NewRangeVar(name, schema, ""))
	return rel, parts[n], err
}
