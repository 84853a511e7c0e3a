// Package builtin has every function of the database by its fn.Func.ID; a test checks that they are
// exactly those that planner/fn lists.
package builtin
