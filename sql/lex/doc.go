// Package lex cuts the text of a query message into tokens, by the rules of
// PostgreSQL's scanner or MySQL's, and keeps their places: the grammars' trees
// carry no positions, so those of all messages come from here.
//
//	text ──Postgres, MySQL──▶ Source: text, tokens (kind, start, end)
//	Source ──Verbatim, Writer──▶ Run: tokens written for a grammar, with the way back
//
// Of the grammars it uses only the list of keywords.
//
// Tested by sql/parse/scan_test.go, sql/parse/find_test.go, sql/parse/golden_test.go.
package lex
