// Package function plans the statements about functions of the user: it reads them into descriptors of the
// catalog, checks what PostgreSQL checks, and finds what else has to go with a function. Package ddl, which it asks for
// privileges, names and what tables and views hold, calls it.
//
// Tested by cluster/node (testdata/corpus/functions.slt).
package function
