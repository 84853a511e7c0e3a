// Package template reads the formats of to_char() and its inverses into nodes.
// What a node does to a number is number's to say, to a date datetime's.
//
//	"FMDay, DD" ──Parse──▶ {DAY, FM} {","} {" "} {DD}
//
// Tested by sql/types/tochar_test.go.
package template
