// Package objname finds objects of the catalog by the names that regclass, regtype and the other
// reg* types read, and returns the names they print: with a schema where the search path does not
// lead to the object.
//
// Tested by cluster/node/testdata/sql/names.txt, cluster/node/testdata/corpus/ddl_objects.slt.
package objname
