// Package admin changes the cluster itself, for a superuser: its settings (ALTER SYSTEM),
// its members with what each may use (ALTER NODE), its version (FINALIZE UPGRADE). What it does is committed at once,
// in no transaction, and it waits until the members have followed.
//
// Tested by cluster/node (nodes_test.go, limits_test.go, upgrade_test.go, testdata/sql).
package admin
