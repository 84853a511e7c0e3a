package lex

import "github.com/tributarydb/tributary/sql/pgerr"

// MaxDepth bounds what is worth parsing: a deeper tree would make the recursive
// readers of it use a stack that no memory account sees.
const MaxDepth = 10_000

// Qualified reads a dotted name at token i and returns the token after it.
func (s *Source) Qualified(i, hi int) ([]string, int) {
	var parts []string
	for i < hi && s.IsName(i) {
		parts = append(parts, s.Name(i))
		i++
		if !s.IsSelf(i, '.') || i+1 >= hi || !s.IsName(i+1) {
			break
		}
		i++
	}
	return parts, i
}

// ArgEnd is the first comma or closing bracket of the level of token i.
func (s *Source) ArgEnd(i, hi int) int {
	depth := 0
	for ; i < hi; i++ {
		if s.Kind(i) != Self {
			continue
		}
		switch s.Text[s.Toks[i].Start] {
		case '(', '[':
			depth++
		case ')', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return hi
}

// Closing is the bracket that closes the one at token i; -1 if none does.
func (s *Source) Closing(i, hi int) int {
	depth := 0
	for ; i < hi; i++ {
		if s.Kind(i) != Self {
			continue
		}
		switch s.Text[s.Toks[i].Start] {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// CheckNesting bounds brackets before a grammar sees them.
func (s *Source) CheckNesting(lo, hi int) error {
	depth := 0
	for i := lo; i < hi; i++ {
		if s.Kind(i) != Self {
			continue
		}
		switch s.Text[s.Toks[i].Start] {
		case '(', '[':
			if depth++; depth > MaxDepth {
				return TooDeep()
			}
		case ')', ']':
			depth--
		}
	}
	return nil
}

// TooDeep is the error of a statement that nests deeper than MaxDepth.
func TooDeep() *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
		WithDetail("The statement nests deeper than %d levels.", MaxDepth).
		WithHint("Use fewer nested parentheses, or IN (…) and ANY (…) in place of long chains of operators.")
}

// FindWord is the position of the first unquoted word w (in lower case) among
// tokens [lo, hi); 0 if there is none.
func (s *Source) FindWord(lo, hi int, w string) int {
	for i := lo; i < hi; i++ {
		if s.IsWord(i, w) {
			return s.Pos(i)
		}
	}
	return 0
}
