package parse

import "github.com/multigres/multigres/go/common/parser/ast"

// ObjectModel is the kind of object of GRANT … ON MODEL m (ON SECRET s is ObjectSecret), of COMMENT ON MODEL m
// and of ALTER DEFAULT PRIVILEGES … ON MODELS, which are otherwise PostgreSQL's
// statements.
const ObjectModel ast.ObjectType = 1 << 10

// modelWord finds the word MODEL, MODELS or SECRET of such a statement; 0 if it is none.
func (s *source) modelWord(lo, hi int) int {
	if s.IsWord(lo, "comment") {
		if lo+3 < hi && s.IsWord(lo+1, "on") && s.IsWord(lo+2, "model") && s.IsName(lo+3) {
			return lo + 2
		}
		return 0
	}
	defaults := s.IsWord(lo, "alter") && s.IsWord(lo+1, "default") && s.IsWord(lo+2, "privileges")
	if !defaults && !s.IsWord(lo, "grant") && !s.IsWord(lo, "revoke") {
		return 0
	}
	for i := lo + 1; i+2 < hi; i++ {
		if !s.IsWord(i, "on") {
			continue
		}
		end := s.IsWord(i+2, "to") || s.IsWord(i+2, "from")
		switch {
		case defaults && s.IsWord(i+1, "models") && end, !defaults && (s.IsWord(i+1, "model") || s.IsWord(i+1, "secret")) && s.IsName(i+2) && !end:
			return i + 1
		case !defaults && s.IsWord(i+1, "all") && s.IsWord(i+2, "models"):
			return i + 2
		}
	}
	return 0
}

// asTables writes tokens [lo, hi) with TABLE or TABLES in the place of the word.
func (s *source) asTables(lo, hi, word int) *fragment {
	w := newRewriter(s, lo, hi)
	w.Copy(lo, word)
	if s.IsWord(word, "models") {
		w.Put(word, "tables")
	} else {
		w.Put(word, "table")
	}
	w.Copy(word+1, hi)
	return w.fragment()
}

func ofModels(n ast.Stmt, secret bool) {
	switch n := n.(type) {
	case *ast.GrantStmt:
		if n.Objtype = ObjectModel; secret {
			n.Objtype = ObjectSecret
		}
	case *ast.CommentStmt:
		n.Objtype = ObjectModel
	case *ast.AlterDefaultPrivilegesStmt:
		n.Action.Objtype = ObjectModel
	}
}
