package parse

import "github.com/multigres/multigres/go/common/parser/ast"

// ObjectModel is the kind of object of GRANT … ON MODEL m, of COMMENT ON MODEL m
// and of ALTER DEFAULT PRIVILEGES … ON MODELS, which are otherwise PostgreSQL's
// statements.
const ObjectModel ast.ObjectType = 1 << 10

// modelWord finds the word MODEL or MODELS of such a statement; 0 if it is none.
func (s *source) modelWord(lo, hi int) int {
	if s.isWord(lo, "comment") {
		if lo+3 < hi && s.isWord(lo+1, "on") && s.isWord(lo+2, "model") && s.isName(lo+3) {
			return lo + 2
		}
		return 0
	}
	defaults := s.isWord(lo, "alter") && s.isWord(lo+1, "default") && s.isWord(lo+2, "privileges")
	if !defaults && !s.isWord(lo, "grant") && !s.isWord(lo, "revoke") {
		return 0
	}
	for i := lo + 1; i+2 < hi; i++ {
		if !s.isWord(i, "on") {
			continue
		}
		end := s.isWord(i+2, "to") || s.isWord(i+2, "from")
		switch {
		case defaults && s.isWord(i+1, "models") && end, !defaults && s.isWord(i+1, "model") && s.isName(i+2) && !end:
			return i + 1
		case !defaults && s.isWord(i+1, "all") && s.isWord(i+2, "models"):
			return i + 2
		}
	}
	return 0
}

// asTables writes tokens [lo, hi) with TABLE or TABLES in the place of the word.
func (s *source) asTables(lo, hi, word int) *fragment {
	w := newWriter(s, lo, hi)
	w.copy(lo, word)
	if s.isWord(word, "models") {
		w.put(word, "tables")
	} else {
		w.put(word, "table")
	}
	w.copy(word+1, hi)
	return w.done()
}

func ofModels(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.GrantStmt:
		n.Objtype = ObjectModel
	case *ast.CommentStmt:
		n.Objtype = ObjectModel
	case *ast.AlterDefaultPrivilegesStmt:
		n.Action.Objtype = ObjectModel
	}
}
