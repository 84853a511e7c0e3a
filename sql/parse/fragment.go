package parse

import (
	"fmt"
	"strings"

	"github.com/multigres/multigres/go/common/parser"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fragment is a run of tokens for the Postgres grammar.
type fragment struct {
	*lex.Run
	names *dottedNames
	lists bool // see integers.go
}

// rewriter writes a fragment.
type rewriter struct {
	*lex.Writer
	merge map[int]int // see merge.go
	// relations are those by their first tokens that the grammar has no place for: see relation.go.
	relations map[int]relation
	past      bool          // tables are read as they were: see past.go
	pivots    map[int]pivot // by the first tokens of their relations
	asofs     map[int]asof  // by their first tokens
	names     *dottedNames
	lists     bool
}

func newRewriter(s *source, lo, hi int) *rewriter {
	return &rewriter{Writer: lex.NewWriter(s.Source, lo, hi)}
}

// fragment ends the writing.
func (w *rewriter) fragment() *fragment { return &fragment{w.Done(), w.names, w.lists} }

// parseGrammar hands a fragment to the Postgres grammar.
func parseGrammar(f *fragment) (stmts []ast.Stmt, err error) {
	defer func() {
		if r := recover(); r != nil {
			stmts, err = nil, pgerr.Internal("the parser failed: %v", r)
		}
	}()
	// With the blank, an error at the last token is not one at the end.
	stmts, lib := parser.ParseSQL(f.Text + " ")
	if lib != nil {
		return nil, grammarError(f, lib)
	}
	return stmts, nil
}

// parseOne parses a fragment that must be one statement.
func parseOne(f *fragment) (ast.Stmt, error) {
	stmts, err := parseGrammar(f)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 || stmts[0] == nil {
		return nil, f.Src.SyntaxError(f.Hi)
	}
	if f.Hi-f.Lo > lex.MaxDepth {
		if err := checkDepth(stmts[0]); err != nil {
			return nil, err
		}
	}
	if err := f.whole(stmts[0]); err != nil {
		return nil, err
	}
	if f.lists {
		putLists(stmts[0])
	}
	return stmts[0], nil
}

// grammarError turns the library's error into Postgres's. The library has no
// error type: its text "parse error at position N: reason" is the only carrier
// of the offset, N being the end of the token that could not be taken.
func grammarError(f *fragment, lib error) error {
	var at int
	text := lib.Error()
	if _, err := fmt.Sscanf(text, "parse error at position %d:", &at); err != nil {
		return lexerError(f, text)
	}
	_, reason, _ := strings.Cut(text, ": ")
	tok := f.Token(at)
	if reason == "syntax error" {
		return f.Src.SyntaxError(tok)
	}
	if e := actionError(f, tok, reason); e != nil {
		return e
	}
	return pgerr.New(pgerr.SyntaxError, "%s", reason).At(f.Src.Pos(tok))
}
