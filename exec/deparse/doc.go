// Package deparse writes the queries and expressions that the catalog keeps as
// PostgreSQL prints them (its ruleutils.c): view definitions, defaults, conditions
// of constraints and indexes. A name has its schema where the reader's search path
// would not find the object without.
//
// Tested by cluster/node/testdata/sql/deparse.txt, cluster/node/testdata/sql/viewdefs.txt.
package deparse
