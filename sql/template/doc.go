// Package template reads the formats of to_char() and its inverses into nodes. Package number defines what a
// node does with a number, package datetime what it does with a date.
//
//	"FMDay, DD" ──Parse──▶ {DAY, FM} {","} {" "} {DD}
//
// Tested by sql/types/tochar_test.go.
package template
