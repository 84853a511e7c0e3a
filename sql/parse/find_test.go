package parse

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// one parses a query of one statement.
func one(t *testing.T, sql string, d Dialect) *Statement {
	t.Helper()
	list, err := Parse(sql, d)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if len(list) != 1 {
		t.Fatalf("%s: %d statements", sql, len(list))
	}
	return list[0]
}

// TestFind: the caret ^ in a query stands before the place that Find must return.
func TestFind(t *testing.T) {
	ident := func(parts ...string) func(*Statement) int {
		return func(s *Statement) int { return s.FindIdent(parts...) }
	}
	cases := []struct {
		marked string
		find   func(*Statement) int
	}{
		{"select ^nope from t", ident("nope")},
		{"select é, ^nope from t", ident("nope")},
		{"select nope.x, ^nope from t", ident("nope")},
		{"select nope(1), x as nope, ^nope from t", ident("nope")},
		{"select ^nope(1) from t", ident("nope")},
		{"select x from s.^nope", ident("nope")},
		{"select x from ^s.nope", ident("s", "nope")},
		{"select ^S . Nope from t", ident("s", "nope")},
		{`select "Nope", ^nope`, ident("nope")},
		{`select nope, ^"Nope"`, ident("Nope")},
		{"select 'nope', $$nope$$ /* nope */, ^nope", ident("nope")},
		{"select ^t.* from u", ident("t", "*")},
		{"select a from t", ident("nope")},
		{"select ^Abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
			ident("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk")},
		{"select a, b, a, ^a", func(s *Statement) int { return s.FindIdentN(3, "a") }},
		{"select a", func(s *Statement) int { return s.FindIdentN(2, "a") }},
		{"select f, ^f(1)", func(s *Statement) int { return s.FindFunc("f") }},
		{"select f, ^s.f(1)", func(s *Statement) int { return s.FindFunc("f") }},
		{"select ^trim(leading 'x' from a)", func(s *Statement) int { return s.FindFunc("ltrim") }},
		{"select a ^at time zone 'x'", func(s *Statement) int { return s.FindFunc("timezone") }},
		{"select ^coalesce(a, b)", func(s *Statement) int { return s.FindFunc("coalesce") }},
		{"select nope, a::^nope", func(s *Statement) int { return s.FindType("nope") }},
		{"select cast(nope as ^s.nope)", func(s *Statement) int { return s.FindType("nope") }},
		{"create table nope (a ^nope, nope int)", func(s *Statement) int { return s.FindType("nope") }},
		{"select ^nope 'x'", func(s *Statement) int { return s.FindType("nope") }},
		{"select a + b ^<> c", func(s *Statement) int { return s.FindOperator("<>") }},
		{"select a + b ^!= c", func(s *Statement) int { return s.FindOperator("<>") }},
		{"select '->', a ^-> b", func(s *Statement) int { return s.FindOperator("->") }},
		{"select 'x', ^'it''s'", func(s *Statement) int { return s.FindLiteral("it's") }},
		{`select ^E'a\nb'`, func(s *Statement) int { return s.FindLiteral("a\nb") }},
		{"select ^$t$a'b$t$", func(s *Statement) int { return s.FindLiteral("a'b") }},
		{"select ^'a'\n  'b'", func(s *Statement) int { return s.FindLiteral("ab") }},
		{"select 1, ^12", func(s *Statement) int { return s.FindLiteral("12") }},
		{"select $11, ^$1", func(s *Statement) int { return s.FindParam(1) }},
		{"select a ^limit 1", func(s *Statement) int { return s.FindWord("LIMIT") }},
		{"train model m as select ^nope from t where x = $1", ident("nope")},
		{"select * from ml.predict(model ^m, (select nope))", ident("m")},
		{"select * from ml.predict(model m, (select ^nope))", ident("nope")},
	}
	for _, c := range cases {
		at := strings.IndexByte(c.marked, '^')
		sql := strings.Replace(c.marked, "^", "", 1)
		want := 0
		if at >= 0 {
			want = len([]rune(c.marked[:at])) + 1
		}
		if got := c.find(one(t, sql, Postgres)); got != want {
			t.Errorf("%s: found at %d, want %d", c.marked, got, want)
		}
	}
}

func TestFindSecondStatement(t *testing.T) {
	list, err := Parse("select a; /* é */ select a, b", Postgres)
	if err != nil {
		t.Fatal(err)
	}
	if got := list[1].FindIdent("a"); got != 26 {
		t.Errorf("a at %d", got)
	}
	if got := list[0].FindIdent("b"); got != 0 {
		t.Errorf("b of another statement at %d", got)
	}
	if got := lex.CharPos(list[1].src.Text, list[1].Offset); got != 19 {
		t.Errorf("statement at %d", got)
	}
	s := one(t, "select `A`, b from T where c = ? and d = ?", MySQL)
	if a, t2, p := s.FindIdent("a"), s.FindIdent("t"), s.FindParam(2); a != 8 || t2 != 20 || p != 42 {
		t.Errorf("MySQL: a at %d, t at %d, second parameter at %d", a, t2, p)
	}
}

func TestBadEncoding(t *testing.T) {
	for sql, want := range map[string]string{
		"select '\xff'":     `invalid byte sequence for encoding "UTF8": 0xff`,
		"select '\xc3('":    `invalid byte sequence for encoding "UTF8": 0xc3 0x28`,
		"select 'a\x00b'":   `invalid byte sequence for encoding "UTF8": 0x00`,
		"select '\xe2\x82'": `invalid byte sequence for encoding "UTF8": 0xe2 0x82 0x27`,
	} {
		for _, d := range []Dialect{Postgres, MySQL} {
			_, err := Parse(sql, d)
			if e := pgerr.From(err); e == nil || e.Code != pgerr.CharacterNotInRepertoire || e.Message != want {
				t.Errorf("%q: %v", sql, err)
			}
		}
	}
}
