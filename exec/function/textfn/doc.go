// Package textfn implements the functions of text, bytea and bit strings:
// patterns, formats and encodings among them.
//
// Tested by exec/eval/testdata/strings.txt, cluster/node/testdata/corpus/text.slt.
package textfn
