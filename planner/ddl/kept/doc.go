// Package kept keeps the texts of the catalog true to what they name: a view, a default, a check, a key of an index, a parameter's
// default and the body of a function with BEGIN ATOMIC or RETURN mean the same objects after these, their schemas,
// types or columns have got other names.
//
//	ALTER … RENAME, SET SCHEMA
//	   SchemaRenamed, TypeRenamed      all texts, by the names that they have
//	   RelationRenamed                 views by what their names were bound to; bodies of functions
//	   ModelRenamed                    views
//
// Tested by cluster/node/testdata/corpus/renames.slt, cluster/node/testdata/corpus/views_mixed.slt.
package kept

import (
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Host is what changing texts needs of the statement's planner.
type Host interface {
	Bind() *bind.Session
	State() *catalog.State // with the changes so far
	Add(...catalog.Change) error
	NameIn(schema types.OID, name string) string
	Signature(*catalog.Function) string
}

// Texts changes the texts of the catalog.
type Texts struct{ Host }
