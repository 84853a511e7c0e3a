package jsonpath

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`$`:                                 `$`,
		`strict $`:                          `strict $`,
		`LAX $.a.b`:                         `$."a"."b"`,
		`$.a/+-1`:                           `($."a" / -1)`,
		`1 * 2 + 4 % -3 != false`:           `(1 * 2 + 4 % -3 != false)`,
		`"\b\f\r\n\t\v\"\'\\"`:              "\"\\b\\f\\r\\n\\t\\u000b\\\"'\\\\\"",
		`'"x"' starts with "y"`:             "",
		`$.foo\x50\u0067\u{53}\u{051}`:      `$."fooPgSQ"`,
		`$[*] ? (@.a > $x && !(@.b == 1))`:  `$[*]?(@."a" > $"x" && !(@."b" == 1))`,
		`$.a[1, last-1 to last, 3 to 5]`:    `$."a"[1,last - 1 to last,3 to 5]`,
		`$.**{2 to last}.b`:                 `$.**{2 to last}."b"`,
		`$.**{3}`:                           `$.**{3}`,
		`$.type.type().size()`:              `$."type".type().size()`,
		`($.a + 1).abs()`:                   `($."a" + 1).abs()`,
		`(($.a)).b`:                         `$."a"."b"`,
		`-$.a`:                              `(-$."a")`,
		`(1 + 2) * 3`:                       `((1 + 2) * 3)`,
		`$ ? (@ like_regex "^a" flag "si")`: `$?(@ like_regex "^a" flag "is")`,
		`$ ? (exists(@.x)) ? ((@ > 1) is unknown)`: `$?(exists (@."x"))?((@ > 1) is unknown)`,
		`$.a == null || $.b /* or */ < 1.5e3`:      `($."a" == null || $."b" < 1.5e3)`,
		`$ ? (@.a starts with $v)`:                 `$?(@."a" starts with $"v")`,
		`$.datetime("HH24")`:                       `$.datetime("HH24")`,
	} {
		got, err := Canonical(in)
		if want == "" {
			if pgerr.CodeOf(err) != pgerr.SyntaxError {
				t.Errorf("%s: %q, %v; want a syntax error", in, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
			continue
		}
		if again, err := Canonical(got); err != nil || again != got {
			t.Errorf("%s comes back as %s, %v", got, again, err)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, in := range []string{`last`, `@`, `@ + 1`, `$.`, `$[`, `$[]`, `$ ? (1)`, `1 == 1 == 1`, `$.a && true`, `"open`, `1a`, `01`, `$.a.nosuch()`,
		`$ like_regex "a" flag "z"`, `!$.a`, `exists($.a == 1)`, `($.a`, `$)`, `/* `, `$.**{a}`, `$ starts with 1`, `-(1 == 1)`} {
		if got, err := Canonical(in); pgerr.CodeOf(err) != pgerr.SyntaxError {
			t.Errorf("%s: %q, %v; want a syntax error", in, got, err)
		}
	}
	if _, err := Canonical(" "); pgerr.CodeOf(err) != pgerr.InvalidTextRepresentation {
		t.Error(err)
	}
	if _, err := Canonical(strings.Repeat("(", 100000) + "$"); pgerr.CodeOf(err) != pgerr.StatementTooComplex {
		t.Error(err)
	}
}
