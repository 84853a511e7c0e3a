// Package version says which versions of Tributary can form a cluster, and what each may write.
//
// A program has a version of its own, Binary, and runs beside the one before, Oldest. A cluster has a
// finalised version: until all its nodes run the newer program and the operator says so (ALTER SYSTEM
// FINALIZE UPGRADE), it is the older one, and nothing is written or sent that the older program does not
// know. What that is, previous.txt decides: the layouts of version Oldest. Decision 90 has the reasons.
package version
