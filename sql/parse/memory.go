package parse

import (
	"strings"

	"github.com/tributarydb/tributary/sql/lex"
)

// EstimateMemory estimates the bytes that a statement's text takes while it is parsed,
// bound and planned: the text several times over, as literals become values,
// and for each word, number, literal and operator what the trees over it hold.
// It reads the text once and allocates nothing.
func EstimateMemory(sql string) int64 {
	const (
		perByte  = 4
		perToken = 800 // measured on long VALUES and expressions
		listed   = 100 // a number of a long IN list: its tokens, its value and a set's place for it
	)
	tokens, rest := 0, int64(0)
	word := false
	from := 0 // the last word
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'':
			word = false
			tokens++
			for i++; i < len(sql) && sql[i] != '\''; i++ {
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '.', c >= 0x80:
			if !word {
				tokens++
				from = i
			}
			word = true
		case c == '(':
			word = false
			if w := strings.TrimRight(sql[from:i], " \n"); len(w) == 2 && lex.Fold(w) == "in" {
				if end, n, _ := integers(sql, i+1); n > 0 {
					rest += listed * int64(n)
					i = end
				}
			}
		default:
			word = false
		}
	}
	return perByte*int64(len(sql)) + perToken*int64(tokens) + rest
}
