package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// distributionOption is the storage parameter that names a table's distribution key.
const distributionOption = "distribution_key"

// distributedPartitions is how many partitions a table with a distribution key has where
// nobody says: a partition that reaches over the bound of two nodes' hashes is read by
// both, so that n nodes read (n-1)/32 of the rows twice.
const distributedPartitions = 32

// mostDistributed bounds the partitions of a table with a distribution key: each thread
// that loads it has a file open for each.
const mostDistributed = 256

// distributionOf sets the distribution key that the table's options name, if they do. It is
// kept as columns, which may be given other names.
func (p *planner) distributionOf(rel *catalog.Relation) error {
	text, ok := rel.Options[distributionOption]
	if !ok {
		return nil
	}
	delete(rel.Options, distributionOption)
	return p.distribution(rel, text)
}

// distribution sets the table's distribution key, which text names: columns, separated by
// commas. The table's columns are known.
func (p *planner) distribution(rel *catalog.Relation, text string) error {
	src, bad := lex.Postgres(text)
	if bad != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid list of columns in %s: %q", distributionOption, text)
	}
	var names []string
	for i := range src.Toks {
		switch raw := src.Raw(i); {
		case i%2 == 1 && raw == "," && i+1 < len(src.Toks):
		case i%2 == 0 && src.Kind(i) == lex.Ident:
			names = append(names, lex.TruncateName(lex.Fold(raw)))
		case i%2 == 0 && src.Kind(i) == lex.Quoted && strings.HasPrefix(raw, `"`):
			names = append(names, lex.TruncateName(strings.ReplaceAll(raw[1:len(raw)-1], `""`, `"`)))
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "invalid list of columns in %s: %q", distributionOption, text)
		}
	}
	return p.distribute(rel, names)
}

// distribute sets the table's distribution key to these columns.
func (p *planner) distribute(rel *catalog.Relation, names []string) error {
	if len(names) == 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "%s names no column", distributionOption)
	}
	rel.DistributionKey = nil
	for _, name := range names {
		c := rel.Column(name)
		switch {
		case c == nil:
			return pgerr.New(pgerr.UndefinedColumn, "column %q named in the distribution key does not exist", name)
		case slices.Contains(rel.DistributionKey, c.Num):
			return pgerr.New(pgerr.DuplicateColumn, "column %q appears twice in the distribution key", name)
		case c.Type.Class() == types.ClassJSON:
			return pgerr.New(pgerr.InvalidParameterValue, "column %q of type json cannot be in a distribution key: json has no equality", name)
		}
		rel.DistributionKey = append(rel.DistributionKey, c.Num)
	}
	switch {
	case rel.Options["partitions"] == "" && !rel.Temp && rel.Partitions < distributedPartitions:
		rel.Partitions = distributedPartitions
	case rel.Partitions > mostDistributed:
		return pgerr.New(pgerr.InvalidParameterValue, "a table with a distribution key has at most %d partitions", mostDistributed)
	}
	return nil
}

// partitionBy takes PARTITION BY HASH, by which PostgreSQL divides a table: the partitions
// are made with it here.
func (p *planner) partitionBy(rel *catalog.Relation, spec *ast.PartitionSpec) error {
	if spec.Strategy != ast.PARTITION_STRATEGY_HASH {
		return pgerr.Unsupported("PARTITION BY RANGE and PARTITION BY LIST are not supported").
			WithHint("PARTITION BY HASH (columns) divides a table among the nodes; scans skip what the least and greatest values of segments rule out.")
	}
	var names []string
	for _, e := range items(spec.PartParams) {
		elem, ok := e.(*ast.PartitionElem)
		if !ok || elem.Name == "" || elem.Expr != nil {
			return pgerr.Unsupported("expressions in PARTITION BY HASH are not supported")
		}
		if len(items(elem.Collation)) > 0 || len(items(elem.Opclass)) > 0 {
			return pgerr.Unsupported("collations and operator classes in PARTITION BY HASH are not supported")
		}
		names = append(names, elem.Name)
	}
	return p.distribute(rel, names)
}

// inDistribution is the error of an action that a column of the distribution key does not
// allow, as a partition key's does not in PostgreSQL.
func inDistribution(rel *catalog.Relation, c *catalog.Column, action string) error {
	if !slices.Contains(rel.DistributionKey, c.Num) {
		return nil
	}
	return pgerr.New(pgerr.InvalidTableDefinition, "cannot %s column %q because it is part of the distribution key of relation %q", action, c.Name, rel.Name).
		WithHint("ALTER TABLE %s RESET (%s) first.", rel.Name, distributionOption)
}
