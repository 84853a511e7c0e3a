package parse

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
)

// Tag returns the statement's command tag as CommandComplete sends it, without row counts:
// "SELECT", "CREATE TABLE", "TRAIN MODEL". It is "CREATE TABLE AS" and "SELECT INTO" for these;
// once run they complete with SELECT and a count, and EXECUTE with the tag of what it ran, which
// only the session knows.
func (s *Statement) Tag() string {
	if s.Extension != nil {
		return s.Extension.Tag()
	}
	switch n := s.Node.(type) {
	case *ast.SelectStmt:
		if leftmost(n).IntoClause != nil {
			return "SELECT INTO"
		}
		return "SELECT"
	case *ast.InsertStmt:
		return "INSERT"
	case *ast.UpdateStmt:
		return "UPDATE"
	case *ast.DeleteStmt:
		return "DELETE"
	case *ast.MergeStmt:
		return "MERGE"
	case *ast.CreateTableAsStmt:
		if n.ObjType == ast.OBJECT_MATVIEW {
			return "CREATE MATERIALIZED VIEW"
		}
		return "CREATE TABLE AS"
	}
	return s.verb()
}

func leftmost(n *ast.SelectStmt) *ast.SelectStmt {
	for n.Larg != nil {
		n = n.Larg
	}
	return n
}

// verb returns the tag of a utility statement from its first words.
func (s *Statement) verb() string {
	words := s.words(8)
	if len(words) == 0 {
		return ""
	}
	rest := words[1:]
	has := func(i int, w string) bool { return i < len(rest) && rest[i] == w }
	switch words[0] {
	case "CREATE", "ALTER", "DROP":
		return words[0] + " " + objectWords(rest)
	case "BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "FETCH", "MOVE", "COPY", "EXPLAIN", "EXECUTE", "GRANT", "REVOKE",
		"COMMENT", "VACUUM", "REINDEX", "CLUSTER", "CHECKPOINT", "LISTEN", "UNLISTEN", "NOTIFY", "LOAD", "DO", "CALL", "SHOW", "RESET":
		switch {
		case words[0] == "COMMIT" && has(0, "PREPARED"):
			return "COMMIT PREPARED"
		case words[0] == "GRANT" || words[0] == "REVOKE":
			if _, ok := s.Node.(*ast.GrantRoleStmt); ok {
				return words[0] + " ROLE"
			}
		}
		return words[0]
	case "ANALYZE", "ANALYSE":
		return "ANALYZE"
	case "START":
		return "START TRANSACTION"
	case "END":
		return "COMMIT"
	case "ABORT":
		return "ROLLBACK"
	case "ROLLBACK":
		if has(0, "PREPARED") {
			return "ROLLBACK PREPARED"
		}
		return "ROLLBACK"
	case "PREPARE":
		if has(0, "TRANSACTION") {
			return "PREPARE TRANSACTION"
		}
		return "PREPARE"
	case "DEALLOCATE":
		if has(0, "ALL") || has(1, "ALL") {
			return "DEALLOCATE ALL"
		}
		return "DEALLOCATE"
	case "SET":
		if has(0, "CONSTRAINTS") {
			return "SET CONSTRAINTS"
		}
		return "SET"
	case "DECLARE":
		return "DECLARE CURSOR"
	case "CLOSE":
		if has(0, "ALL") {
			return "CLOSE CURSOR ALL"
		}
		return "CLOSE CURSOR"
	case "DISCARD":
		return "DISCARD " + strings.Replace(strings.Join(rest[:min(1, len(rest))], ""), "TEMPORARY", "TEMP", 1)
	case "TRUNCATE":
		return "TRUNCATE TABLE"
	case "LOCK":
		return "LOCK TABLE"
	case "REFRESH":
		return "REFRESH MATERIALIZED VIEW"
	case "SECURITY":
		return "SECURITY LABEL"
	case "REASSIGN":
		return "REASSIGN OWNED"
	case "IMPORT":
		return "IMPORT FOREIGN SCHEMA"
	}
	return words[0]
}

// words returns the statement's first words in capitals, up to n.
func (s *Statement) words(n int) []string {
	var out []string
	for i := s.lo; i < s.hi && len(out) < n && s.src.Kind(i) == lex.Ident; i++ {
		out = append(out, strings.ToUpper(s.src.Raw(i)))
	}
	return out
}

// Temporary reports whether the statement is CREATE TEMPORARY …, which the tree of a sequence does not record.
func (s *Statement) Temporary() bool {
	w := s.words(3)
	if len(w) == 3 && (w[1] == "LOCAL" || w[1] == "GLOBAL") {
		w = w[1:]
	}
	return len(w) > 1 && (w[1] == "TEMP" || w[1] == "TEMPORARY")
}

// objectWords names the kind of object after CREATE, ALTER or DROP.
func objectWords(w []string) string {
	i := 0
skip:
	for i < len(w) {
		switch w[i] {
		case "OR", "REPLACE", "GLOBAL", "LOCAL", "TEMP", "TEMPORARY", "UNLOGGED", "UNIQUE", "RECURSIVE", "CONSTRAINT",
			"TRUSTED", "PROCEDURAL":
			i++
		case "DEFAULT":
			if i+1 < len(w) && w[i+1] == "PRIVILEGES" {
				break skip
			}
			i++
		default:
			break skip
		}
	}
	n := 1
	if i < len(w) {
		switch w[i] {
		case "MATERIALIZED", "ACCESS", "EVENT", "DEFAULT":
			n = 2
		case "FOREIGN":
			n = 2
			if i+1 < len(w) && w[i+1] == "DATA" {
				n = 3
			}
		case "TEXT":
			n = 3
		case "OPERATOR":
			if i+1 < len(w) && (w[i+1] == "CLASS" || w[i+1] == "FAMILY") {
				n = 2
			}
		case "LARGE":
			n = 2
		case "USER":
			if i+1 < len(w) && w[i+1] == "MAPPING" {
				return "USER MAPPING"
			}
			return "ROLE"
		case "GROUP":
			return "ROLE"
		}
	}
	return strings.Join(w[min(i, len(w)):min(i+n, len(w))], " ")
}
