package ddl

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const maxPartitions = 4096

// repartition distributes a table's rows to another number of partitions.
func (p *planner) repartition(n *parse.AlterTableRepartition) error {
	if n.N < 1 || n.N > maxPartitions {
		return pgerr.New(pgerr.InvalidParameterValue, "the number of partitions must be between 1 and %d", maxPartitions)
	}
	schema, name, err := catalog.RelationName(n.Name...)
	if err != nil {
		return err
	}
	rel, err := p.changed(ast.NewRangeVar(name, schema, ""), ast.OBJECT_TABLE, n.IfExists)
	if rel == nil {
		return err
	}
	if rel.Kind != catalog.KindTable {
		return pgerr.New(pgerr.WrongObjectType, "%q is not a table", rel.Name)
	}
	if len(rel.DistributionKey) > 0 && n.N > mostDistributed {
		return pgerr.New(pgerr.InvalidParameterValue, "a table with a distribution key has at most %d partitions", mostDistributed)
	}
	up := rel.Clone()
	up.Partitions = int(n.N)
	if err := p.rewrite(rel, up, nil, up.Partitions); err != nil {
		return err
	}
	return p.add(&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version})
}
