package mysql

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var vitess = sync.OnceValues(func() (*sqlparser.Parser, error) {
	return sqlparser.New(sqlparser.Options{MySQLServerVersion: "8.4.0"})
})

// Translation is a statement as Postgres text.
type Translation struct {
	Text     string
	NoEffect string   // the command, where there is nothing to do and no text
	Notices  []string // what was read and left out
}

// Translate writes tokens [lo, hi) of src, a statement of the MySQL dialect.
// around says that a query in it has clauses both inside and after its
// parentheses, as in (SELECT … LIMIT 5) LIMIT 1, which Vitess confuses.
func Translate(src *lex.Source, lo, hi int, around bool) (Translation, error) {
	if src.AllVersioned(lo, hi) {
		text := src.Text[src.Toks[lo].Start:src.Toks[hi-1].End]
		return Translation{NoEffect: "a /*! */ comment", Notices: []string{"statement in a /*! */ comment has no effect: " + Clip(text, 60)}}, nil
	}
	t := &translator{s: src, lo: lo, hi: hi}
	if around {
		t.refuse("a clause both inside and after a query in parentheses", "limit", "order")
		return Translation{}, t.err
	}
	stmt, err := t.parse()
	if err != nil {
		return Translation{}, err
	}
	t.stmt(stmt)
	if t.err != nil {
		return Translation{}, t.err
	}
	return Translation{Text: t.b.String(), NoEffect: t.noEffect, Notices: t.notices}, nil
}

// Clip is at most n characters of s.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// translator writes one statement. The first error is kept and returned at the
// end; what is written after it is discarded.
type translator struct {
	s        *lex.Source
	lo, hi   int
	b        strings.Builder
	err      error
	params   int // question marks before this text, in the whole statement
	notices  []string
	noEffect string // the command, when there is nothing to do
	prefix   string // put before the tokens for Vitess
	depth    int
	tables   []tableCall                 // see table.go
	aliases  []map[string]sqlparser.Expr // of the select whose HAVING is being written
}

// parse parses the tokens with Vitess: comments left out, parameters as :vN.
func (t *translator) parse() (sqlparser.Statement, error) {
	w := lex.NewWriter(t.s, t.lo, t.hi)
	params := t.params
	if t.prefix != "" {
		w.Put(t.lo, t.prefix)
	}
	for i := t.lo; i < t.hi; i++ {
		if err := t.unfit(i); err != nil {
			return nil, err
		}
		raw := t.s.Raw(i)
		switch {
		case t.tableCallAt(i):
			end, err := t.takeTableCall(i, params)
			if err != nil {
				return nil, err
			}
			for k := i; k < end; k++ {
				if t.s.Kind(k) == lex.Param {
					params++
				}
			}
			w.Put(end-1, "`"+callTable+strconv.Itoa(len(t.tables)-1)+"`")
			i = end - 1
		case t.s.Kind(i) == lex.Param && raw == "?":
			params++
			w.Put(i, ":v"+strconv.Itoa(params))
		case t.s.Kind(i) == lex.Param:
			w.Put(i, ":v"+raw[1:])
		case t.s.Kind(i) == lex.Ident && !plain(raw):
			w.Put(i, "`"+raw+"`")
		default:
			w.Copy(i, i+1)
			if i+1 < t.hi && t.s.Toks[i].End == t.s.Toks[i+1].Start && t.s.IsSelf(i+1, '(') {
				w.Glue() // a function's name and its parenthesis must touch; - and - must not
			}
		}
	}
	f := w.Done()
	stmt, err := parseVitess(f.Text + " ")
	if err == nil {
		return stmt, nil
	}
	var at sqlparser.PositionedErr
	var ours *pgerr.Error
	switch {
	case errors.As(err, &at):
		return nil, t.s.SyntaxError(f.Token(at.Pos - 1))
	case errors.As(err, &ours):
		return nil, ours
	}
	return nil, t.s.SyntaxError(t.hi)
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
	if t.s.Kind(i) == lex.String && i+1 < t.hi && t.s.Kind(i+1) == lex.String {
		return pgerr.Unsupported("adjacent string literals are not supported").At(t.s.Pos(i + 1)).
			WithHint("Write them as one literal, or use CONCAT.")
	}
	if t.s.Kind(i) == lex.Other && t.s.Raw(i)[0] != '@' {
		return t.s.SyntaxError(i)
	}
	return nil
}

// plain reports whether s is of ASCII only.
func plain(s string) bool {
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

// refuse records that a construct has no equivalent here (0A000). The position
// is that of the first of words that the statement holds.
func (t *translator) refuse(what string, words ...string) {
	if t.err != nil {
		return
	}
	e := pgerr.Unsupported("%s is not supported in the MySQL dialect", what)
	for _, w := range words {
		if e.Position == 0 {
			e.Position = t.s.FindWord(t.lo, t.hi, w)
		}
	}
	t.fail(e)
}

// unknown refuses a node of a kind that is not translated.
func (t *translator) unknown(node any) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", node), "*")
	t.refuse(strings.TrimPrefix(name, "sqlparser."))
}

func (t *translator) note(format string, args ...any) {
	t.notices = append(t.notices, fmt.Sprintf(format, args...))
}

// nothing records that the statement is accepted and has no effect.
func (t *translator) nothing(command string) { t.noEffect = command }

// enter bounds the depth of recursion; where it returns true the caller must return.
func (t *translator) enter() bool {
	if t.err != nil {
		return false
	}
	if t.depth++; t.depth > lex.MaxDepth {
		t.fail(lex.TooDeep())
		t.depth--
		return false
	}
	return true
}

func (t *translator) leave() { t.depth-- }

// ident writes a name, folded.
func (t *translator) ident(name string) { t.w(folded(name)) }

func folded(name string) string { return lex.QuoteName(lex.TruncateName(lex.Fold(name))) }

func (t *translator) tableName(n sqlparser.TableName) {
	if q := n.Qualifier.String(); q != "" {
		t.w(folded(q) + "." + folded(n.Name.String()))
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

// stmt writes a statement.
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
