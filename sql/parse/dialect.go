package parse

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/mysql"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// parseMySQL fills st from its tokens.
func (st *Statement) parseMySQL() error {
	node, t, err := st.src.translated(st.lo, st.hi)
	if err != nil {
		return err
	}
	st.Node, st.Notices = node, t.Notices
	if node == nil {
		command := t.NoEffect
		if st.src.AllVersioned(st.lo, st.hi) {
			command = st.verb()
		}
		if len(t.Notices) == 0 {
			st.Notices = []string{command + " has no effect"}
		}
		st.Extension = &NoEffect{Command: command}
	}
	return nil
}

// mysqlQuery parses tokens [lo, hi) as the query of one of our statements.
func (s *source) mysqlQuery(lo, hi int) (ast.Stmt, error) {
	node, _, err := s.translated(lo, hi)
	return node, err
}

// translated parses tokens [lo, hi) of the MySQL dialect; the node is nil where the statement has
// no effect. The translated text is ours, so an error in it is a bug, which is reported without a
// position in the user's text.
func (s *source) translated(lo, hi int) (ast.Stmt, mysql.Translation, error) {
	t, err := mysql.Translate(s.Source, lo, hi, s.survey(lo, hi).clauses)
	if err != nil || t.NoEffect != "" {
		return nil, t, err
	}
	toks, lexical := lex.Postgres(t.Text)
	if lexical == nil {
		node, err := (&source{toks}).postgres(0, len(toks.Toks))
		if err == nil {
			return node, t, nil
		}
		e := pgerr.From(err)
		if e.Code != pgerr.SyntaxError && e.Code != pgerr.InternalError {
			return nil, t, e.At(0)
		}
	}
	return nil, t, pgerr.Unsupported("this MySQL statement cannot be translated").
		WithDetail("It was read as: %s", mysql.Clip(t.Text, 500))
}
