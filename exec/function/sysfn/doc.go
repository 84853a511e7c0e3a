// Package sysfn implements the functions about the session, the server and the
// catalog: settings, privileges, access control lists, definitions of objects.
//
// Tested by cluster/node/testdata/sql/system.txt, cluster/node/testdata/sql/privileges.txt, cluster/node/testdata/corpus/describe_objects.slt.
package sysfn
