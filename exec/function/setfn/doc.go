// Package setfn implements the set-returning functions but json's: series,
// subscripts, unnest, splits of strings.
package setfn
