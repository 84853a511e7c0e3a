package parse

import (
	"strings"
	"testing"

	"github.com/multigres/multigres/go/common/parser"

	"github.com/tributarydb/tributary/sql/lex"
)

// TestScanAgrees compares the tokens of our scanner with those of the grammar's lexer: token
// boundaries must agree wherever both accept a text. Otherwise "syntax error at or near" would name
// another token than the one that was refused.
func TestScanAgrees(t *testing.T) {
	for _, sql := range []string{
		"select a.b, c[1:2], d::int from t where x <= 1 and y >= 2 or z <> 3 and w != 4",
		"select 1, 1.5, .5, 1e3, 1.5e-3, 1., 'a''b', E'a\\'b', B'01', X'1f', N'x', U&'\\0041', \"a\"\"b\", $1, :x",
		"select a+-b, a*-b, a<-b, a@-b, a||b, a->b, a->>b, a#>b, a@>b, a<@b, a?b, a?|b, ~a, !a, a!~~*b, -1, - 1, +1, a=-1",
		"select a/*c*/+/*d*/b, a--c\n, b", "select f(a=>1, b:=2)", "select 1..2", "select a.*, b. *", "select 'a'\n'b'",
		"select é, \"ü\", 'ß' from straße", "select $$a$$, $t$b$t$", "select * from t where a not in (1) and b not like 'x' order by c nulls first",
		"select a between 1 and 2, timestamp with time zone 'x'", "/* a /* b */ c */ select 1;;select 2", "select a%b, a^b, a&b, a|b, a<<1, a>>1",
	} {
		checkAgrees(t, sql)
	}
}

func checkAgrees(t *testing.T, sql string) {
	t.Helper()
	src, bad := lex.Postgres(sql)
	if bad != nil {
		t.Fatalf("%s: %s", sql, bad.Message)
	}
	lexer := parser.NewLexer(sql)
	for i := 0; ; i++ {
		tok := lexer.NextToken()
		if tok == nil || tok.Type <= 0 {
			if i != len(src.Toks) || lexer.HasErrors() {
				t.Errorf("%s: %d tokens, the lexer has %d, %v", sql, len(src.Toks), i, lexer.GetErrors())
			}
			return
		}
		if i >= len(src.Toks) || tok.Position != int(src.Toks[i].Start) {
			t.Errorf("%s: token %d %q at %d, the lexer has %q at %d", sql, i, src.Raw(i), src.Toks[min(i, len(src.Toks)-1)].Start, tok.Text, tok.Position)
			return
		}
		if end := lexer.GetPosition(); end != int(src.Toks[i].End) {
			t.Errorf("%s: token %d %q ends at %d, the lexer is at %d", sql, i, src.Raw(i), src.Toks[i].End, end)
			return
		}
	}
}

func TestLiteral(t *testing.T) {
	for sql, want := range map[string]string{
		`'a''b'`: "a'b", `E'a\tb\x41\101\u00e9\U0001F600\'\\'`: "a\tbAAé😀'\\", `N'x'`: "x", `$x$a$b$x$`: "a$b", `U&'d\0061t\+000061'`: "data",
		"'a'\n -- c\n 'b'": "ab", `''`: "", `E'a''b'`: "a'b", `'a\n'`: `a\n`,
	} {
		src, bad := lex.Postgres(sql)
		if bad != nil || len(src.Toks) != 1 || src.Kind(0) != lex.String {
			t.Errorf("%s: %v %v", sql, src.Toks, bad)
			continue
		}
		if got := src.Literal(0); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
	for sql, want := range map[string]string{
		`'a''b'`: "a'b", `"a'b""c"`: `a'b"c`, `'a\'b\n\t\\\q\%\_'`: "a'b\n\t\\q\\%\\_", `''`: "", `n'x'`: "x",
	} {
		src, bad := lex.MySQL(sql)
		if bad != nil || len(src.Toks) != 1 || src.Kind(0) != lex.String {
			t.Errorf("%s: %v %v", sql, src.Toks, bad)
			continue
		}
		if got := src.Literal(0); got != want {
			t.Errorf("MySQL %s: %q, want %q", sql, got, want)
		}
	}
}

func TestQuoteName(t *testing.T) {
	for _, name := range []string{"a", "A", "a b", "select", `a"b`, "1a", "ü", "a$1", "", "_", "left", "int", "naïve", strings.Repeat("x", 63)} {
		q := lex.QuoteName(name)
		src, bad := lex.Postgres(q)
		if name == "" {
			continue // no name is empty; QuoteName must only not panic
		}
		if bad != nil || len(src.Toks) != 1 || src.Name(0) != name {
			t.Errorf("%q is quoted as %s", name, q)
		}
	}
}
