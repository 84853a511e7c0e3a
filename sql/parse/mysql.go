package parse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/multigres/multigres/go/common/parser/ast"
	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// The MySQL dialect: Vitess parses, and mysql_*.go write each node of its tree
// as the Postgres text of the same meaning, which the Postgres grammar then
// turns into the one AST there is. Meaning comes before looks:
//
//	a || b          a OR b                     "x"        the string x
//	a / b           a * 1.0 / NULLIF(b, 0)     a <=> b    a IS NOT DISTINCT FROM b
//	WHERE a         WHERE a <> 0               SUM(a = b) SUM((a = b)::int)
//	CONCAT(a, b)    a::text || b::text         ORDER BY a ORDER BY a NULLS FIRST
//
// Names are folded to lower case whether quoted or not, as a MySQL server does
// with lower_case_table_names = 1, so that both dialects see the same tables.
// Strings compare by their bytes, as under utf8mb4_bin. What has no equal is
// refused with 0A000; what has no effect here (ENGINE=, plain KEY) is noted.

var vitess = sync.OnceValues(func() (*sqlparser.Parser, error) {
	return sqlparser.New(sqlparser.Options{MySQLServerVersion: "8.4.0"})
})

// parseMySQL fills st from its tokens.
func (st *Statement) parseMySQL() error {
	s := st.src
	if s.allVersioned(st.lo, st.hi) {
		st.Own = &NoEffect{Command: st.verb()}
		st.Notices = []string{"statement in a /*! */ comment has no effect: " + clip(st.Text, 60)}
		return nil
	}
	t := &translator{s: s, lo: st.lo, hi: st.hi}
	node, err := t.statement()
	if err != nil {
		return err
	}
	st.Notices = t.notices
	if node == nil {
		tag := t.noEffect
		if len(t.notices) == 0 {
			st.Notices = []string{tag + " has no effect"}
		}
		st.Own = &NoEffect{Command: tag}
		return nil
	}
	st.Node = node
	return nil
}

// mysqlQuery parses tokens [lo, hi) as the query of one of our statements.
func (s *source) mysqlQuery(lo, hi int) (ast.Stmt, error) {
	t := &translator{s: s, lo: lo, hi: hi}
	return t.statement()
}

// allVersioned tells whether every token stands in a /*! */ comment.
func (s *source) allVersioned(lo, hi int) bool {
	at := lo
	for _, r := range s.versioned {
		if r.lo <= at && r.hi > at {
			at = r.hi
		}
	}
	return at >= hi && lo < hi && len(s.versioned) > 0
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// translator writes one statement. Errors stick: after the first, writing is
// pointless but harmless, and the end sees it.
type translator struct {
	s        *source
	lo, hi   int
	b        strings.Builder
	err      error
	params   int // question marks before this text, in the whole statement
	notices  []string
	noEffect string // the command, when there is nothing to do
	prefix   string // put before the tokens for Vitess
	depth    int
	tables   []tableCall                 // see mysql_table.go
	aliases  []map[string]sqlparser.Expr // of the select whose HAVING is being written
}

func (t *translator) statement() (ast.Stmt, error) {
	stmt, err := t.parse()
	if err != nil {
		return nil, err
	}
	t.stmt(stmt)
	if t.err != nil {
		return nil, t.err
	}
	if t.noEffect != "" {
		return nil, nil
	}
	return t.postgres()
}

// postgres parses the text written. It is ours, so an error in it is a bug,
// but one that ends here and names no position of the user's text.
func (t *translator) postgres() (ast.Stmt, error) {
	src, lexical := scanPostgres(t.b.String())
	if lexical == nil {
		node, err := src.postgres(0, len(src.toks))
		if err == nil {
			return node, nil
		}
		e := pgerr.From(err)
		if e.Code != pgerr.SyntaxError && e.Code != pgerr.InternalError {
			return nil, e.At(0)
		}
	}
	return nil, pgerr.Unsupported("this MySQL statement cannot be translated").
		WithDetail("It was read as: %s", clip(t.b.String(), 500))
}

// parse hands the tokens to Vitess: comments left out, parameters as :vN.
func (t *translator) parse() (sqlparser.Statement, error) {
	if v := t.s.survey(t.lo, t.hi); v.clauses {
		t.refuse("a clause both inside and after a query in parentheses", "limit", "order")
		return nil, t.err
	}
	w := newWriter(t.s, t.lo, t.hi)
	params := t.params
	if t.prefix != "" {
		w.put(t.lo, t.prefix)
	}
	for i := t.lo; i < t.hi; i++ {
		if err := t.unfit(i); err != nil {
			return nil, err
		}
		raw := t.s.raw(i)
		switch {
		case t.tableCallAt(i):
			end, err := t.takeTableCall(i, params)
			if err != nil {
				return nil, err
			}
			for k := i; k < end; k++ {
				if t.s.kind(k) == tokParam {
					params++
				}
			}
			w.put(end-1, "`"+callTable+strconv.Itoa(len(t.tables)-1)+"`")
			i = end - 1
		case t.s.kind(i) == tokParam && raw == "?":
			params++
			w.put(i, ":v"+strconv.Itoa(params))
		case t.s.kind(i) == tokParam:
			w.put(i, ":v"+raw[1:])
		case t.s.kind(i) == tokIdent && !ascii(raw):
			w.put(i, "`"+raw+"`")
		default:
			w.copy(i, i+1)
			if i+1 < t.hi && t.s.toks[i].end == t.s.toks[i+1].start && t.s.isSelf(i+1, '(') {
				w.glue() // a function's name and its parenthesis must touch; - and - must not
			}
		}
	}
	f := w.done()
	stmt, err := parseVitess(f.text + " ")
	if err == nil {
		return stmt, nil
	}
	var at sqlparser.PositionedErr
	var ours *pgerr.Error
	switch {
	case errors.As(err, &at):
		return nil, t.s.syntaxError(f.token(at.Pos - 1))
	case errors.As(err, &ours):
		return nil, ours
	}
	return nil, t.s.syntaxError(t.hi)
}

// parseVitess calls the library, which panics on some statements that it does
// not take, WITH a AS (…) (WITH b AS (…) …) for one.
func parseVitess(text string) (stmt sqlparser.Statement, err error) {
	p, err := vitess()
	if err != nil {
		return nil, pgerr.Internal("MySQL parser: %v", err)
	}
	defer func() {
		if r := recover(); r != nil {
			stmt, err = nil, pgerr.Unsupported("this MySQL statement is not supported")
		}
	}()
	return p.ParseStrictDDL(text)
}

// unfit refuses tokens that Vitess would take for something that MySQL does
// not: 'a' 'b' (two strings joined, there an alias) and :name.
func (t *translator) unfit(i int) error {
	if t.s.kind(i) == tokString && i+1 < t.hi && t.s.kind(i+1) == tokString {
		return pgerr.Unsupported("adjacent string literals are not supported").At(t.s.pos(i + 1)).
			WithHint("Write them as one literal, or use CONCAT.")
	}
	if t.s.kind(i) == tokOther && t.s.raw(i)[0] != '@' {
		return t.s.syntaxError(i)
	}
	return nil
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// w writes text, with a blank before it so that words never touch.
func (t *translator) w(parts ...string) {
	for _, p := range parts {
		t.b.WriteByte(' ')
		t.b.WriteString(p)
	}
}

func (t *translator) fail(e *pgerr.Error) {
	if t.err == nil {
		t.err = e
	}
}

// refuse names a construct that has no equal here. The position is that of the
// first of words that the statement holds.
func (t *translator) refuse(what string, words ...string) {
	if t.err != nil {
		return
	}
	e := pgerr.Unsupported("%s is not supported in the MySQL dialect", what)
	st := &Statement{src: t.s, lo: t.lo, hi: t.hi}
	for _, w := range words {
		if e.Position == 0 {
			e.Position = st.FindWord(w)
		}
	}
	t.fail(e)
}

// unknown refuses a node that no case knows.
func (t *translator) unknown(node any) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", node), "*")
	t.refuse(strings.TrimPrefix(name, "sqlparser."))
}

func (t *translator) note(format string, args ...any) {
	t.notices = append(t.notices, fmt.Sprintf(format, args...))
}

// nothing says that the statement is taken and does nothing.
func (t *translator) nothing(command string) { t.noEffect = command }

// enter guards a recursion; the caller must leave if it is true.
func (t *translator) enter() bool {
	if t.err != nil {
		return false
	}
	if t.depth++; t.depth > maxDepth {
		t.fail(depthError())
		t.depth--
		return false
	}
	return true
}

func (t *translator) leave() { t.depth-- }

// ident writes a name, folded.
func (t *translator) ident(name string) { t.w(mysqlName(name)) }

func mysqlName(name string) string { return QuoteName(truncateName(fold(name))) }

func (t *translator) tableName(n sqlparser.TableName) {
	if q := n.Qualifier.String(); q != "" {
		t.w(mysqlName(q) + "." + mysqlName(n.Name.String()))
		return
	}
	t.ident(n.Name.String())
}

func (t *translator) columns(cols sqlparser.Columns) {
	t.w("(")
	for i, c := range cols {
		t.comma(i)
		t.ident(c.String())
	}
	t.w(")")
}

func (t *translator) comma(i int) {
	if i > 0 {
		t.w(",")
	}
}

// stmt writes a statement: one function a family.
func (t *translator) stmt(n sqlparser.Statement) {
	switch n := n.(type) {
	case *sqlparser.Select, *sqlparser.Union, *sqlparser.ValuesStatement:
		t.query(n.(sqlparser.TableStatement))
	case *sqlparser.Insert:
		t.insert(n)
	case *sqlparser.Update:
		t.update(n)
	case *sqlparser.Delete:
		t.delete(n)
	case *sqlparser.CreateTable:
		t.createTable(n)
	case *sqlparser.DropTable:
		t.dropTables("TABLE", n.IfExists, n.FromTables)
	case *sqlparser.DropView:
		t.dropTables("VIEW", n.IfExists, n.FromTables)
	case *sqlparser.CreateView:
		t.createView(n)
	case *sqlparser.AlterTable:
		t.alterTable(n)
	case *sqlparser.RenameTable:
		t.renameTable(n)
	case *sqlparser.TruncateTable:
		t.w("TRUNCATE TABLE")
		t.tableName(n.Table)
		t.w("RESTART IDENTITY")
	case *sqlparser.CreateDatabase:
		t.w("CREATE SCHEMA")
		if n.IfNotExists {
			t.w("IF NOT EXISTS")
		}
		t.ident(n.DBName.String())
		for _, o := range n.CreateOptions {
			t.note("database option %s is ignored", o.Type.ToString())
		}
	case *sqlparser.DropDatabase:
		t.w("DROP SCHEMA")
		if n.IfExists {
			t.w("IF EXISTS")
		}
		t.ident(n.DBName.String())
		t.w("CASCADE")
	case *sqlparser.ExplainStmt:
		t.explain(n)
	case *sqlparser.ExplainTab:
		t.refuse("DESCRIBE of a table", "describe", "desc", "explain")
	case *sqlparser.Analyze:
		t.w("ANALYZE")
		t.tableName(n.Table)
	default:
		t.session(n)
	}
}

func (t *translator) explain(n *sqlparser.ExplainStmt) {
	switch n.Type {
	case sqlparser.EmptyType, sqlparser.TraditionalType, sqlparser.TreeType:
		t.w("EXPLAIN")
	case sqlparser.JSONType:
		t.w("EXPLAIN (FORMAT JSON)")
	case sqlparser.AnalyzeType:
		t.w("EXPLAIN ANALYZE")
	default:
		t.refuse("this kind of EXPLAIN", "explain", "describe")
	}
	t.stmt(n.Statement)
	if t.noEffect != "" {
		t.refuse("EXPLAIN of " + t.noEffect)
	}
}

// hint adds a hint to the refusal just made.
func (t *translator) hint(text string) {
	if e := pgerr.From(t.err); e != nil && e.Hint == "" {
		e.Hint = text
	}
}
