// Package prune finds by zone maps (the least and greatest value and the NULLs of a column in a run
// of rows: sql/catalog.Zone) which runs a scan's filter may pass, so that the others are not read.
// It understands comparisons of a column with a constant or parameter, IN lists, IS NULL, and AND
// and OR of them; other conditions exclude nothing.
//
//	plan.Scan.Filter ─▶ Compiler ─▶ Pruner   tests of the zones of a segment or group
//	                             └▶ Listed   few values that a column must have one of,
//	                                         to be looked up in place of reading all
package prune
