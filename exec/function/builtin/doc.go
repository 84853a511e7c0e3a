// Package builtin has every function of the database by its fn.Func.ID; a test checks
// that each that planner/fn lists is there, and no other.
package builtin
