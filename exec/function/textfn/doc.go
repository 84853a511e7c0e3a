// Package textfn implements the functions of text, bytea and bit strings:
// patterns, formats and encodings among them.
package textfn
