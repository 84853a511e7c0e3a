package parse_test

import (
	"strings"
	"testing"

	"github.com/multigres/multigres/go/common/parser"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/parse"
)

// TestKeep: the text that Keep stores of an expression, as of a CHECK constraint, parses to the
// same expression, and keeping that gives the same text.
func TestKeep(t *testing.T) {
	cases := map[string]string{
		"a + b * c":                       "a + (b * c)",
		"(a + b) * c":                     "(a + b) * c",
		"- - x":                           "-(-x)",
		"1 - -5":                          "1 - (-5)",
		"- (-5)":                          "-(-5)",
		"a > 0 AND a < 10 OR a = 99":      "((a > 0) AND (a < 10)) OR (a = 99)",
		"NOT a = b":                       "NOT (a = b)",
		"(a = b) IS NULL":                 "(a = b) IS NULL",
		"lower(a) || 'x''y'":              "lower(a) || 'x''y'",
		"a BETWEEN 1 AND 2 + 3":           "a BETWEEN 1 AND 2 + 3",
		"CASE WHEN a < - b THEN 1 END":    "CASE WHEN a < (-b) THEN 1 END",
		"x IN (1, 2) AND y LIKE 'a%'":     "(x IN (1, 2)) AND (y LIKE 'a%')",
		"'a'::char":                       "CAST('a' AS CHAR(1))",
		"(SELECT max(a + - - b) FROM t)":  "(SELECT MAX(a + (-(-b))) FROM t)",
		"a = ANY (ARRAY[1, - - 2])":       "a = ANY (ARRAY[1,-(-2)])",
		"\"Odd name\" + \"select\"":       "\"Odd name\" + \"select\"",
		"a -> 'b' ->> 'c' = 'd'":          "((a -> 'b') ->> 'c') = 'd'",
		"extract(year FROM ts) + 1":       "extract(year FROM ts) + 1",
		"coalesce(a, - b, - (- 1)) % - 7": "COALESCE(a, -b, -(-1)) % (-7)",
	}
	for sql, want := range cases {
		text := want
		for range 2 {
			list, err := parser.ParseSQL("SELECT " + sql)
			if err != nil {
				t.Fatal(sql, err)
			}
			n := list[0].(*ast.SelectStmt).TargetList.Items[0].(*ast.ResTarget).Val
			got, err := parse.Keep(n)
			if err != nil {
				t.Errorf("%s: %v", sql, err)
				break
			}
			if got != text {
				t.Errorf("%s is kept as %s, want %s", sql, got, text)
				break
			}
			sql = got
		}
	}
}

// TestKeepLong: a condition so long that its chain was made flat can be kept.
func TestKeepLong(t *testing.T) {
	for _, op := range []string{" and ", " or "} {
		list, err := parse.Parse("select 1 from t where a = 0"+strings.Repeat(op+"a = 1", 5000), parse.Postgres)
		if err != nil {
			t.Fatal(err)
		}
		text, err := parse.Keep(list[0].Node)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse.One(text, parse.Postgres)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := parse.Keep(again.Node); err != nil || second != text {
			t.Error("another text the second time:", err)
		}
	}
}
