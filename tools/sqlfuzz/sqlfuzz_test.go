package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/process"
)

// TestRun is a short run without PostgreSQL to compare with; long ones are started by the command.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	program, err := process.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	node, err := process.Start(t.Context(), program, "serve", "--data", filepath.Join(dir, "data"),
		"--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", "127.0.0.1:0", "--memory", "512MiB")
	if err != nil {
		t.Fatal(err)
	}
	defer node.Kill()
	for _, o := range []Options{{Statements: 600, Seed: 28, Connections: 2}, {Profile: "edges", Statements: 1, Seed: 1, Connections: 1}} {
		var out bytes.Buffer
		o.DSN, o.Allow = "postgres://tributary@"+node.PG+"/tributary?sslmode=disable", []string{"0A000", "40001"}
		err = Run(context.Background(), o, &out)
		t.Log(out.String())
		if err != nil {
			t.Error(err)
		}
	}
	if err := Run(context.Background(), Options{Profile: "edge"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "edges, general") {
		t.Errorf("a profile that is misspelt: %v", err)
	}
}

// TestEdges: the profile makes each of its kinds of statements, the same from the same seed.
func TestEdges(t *testing.T) {
	p := profiles["edges"]
	round := func(seed uint64) (sql []string) {
		g := &generator{r: rand.New(rand.NewPCG(seed, 1)), schema: "s", role: "s_role"}
		for _, c := range p.create(g) {
			sql = append(sql, c.sql)
		}
		for range 200 {
			sql = append(sql, p.change(g).sql)
			for _, r := range p.trial(g, seed%2 == 0).requests() {
				sql = append(sql, r.sql)
			}
		}
		return sql
	}
	var all strings.Builder
	for seed := range uint64(12) {
		list := round(seed)
		if !slices.Equal(list, round(seed)) {
			t.Errorf("seed %d: not the same again", seed)
		}
		for _, sql := range list {
			if strings.Contains(sql, "%!") || strings.Contains(sql, "EXTRA") {
				t.Errorf("seed %d: %s", seed, sql)
			}
			all.WriteString(sql + "\n")
		}
	}
	for _, want := range []string{"SET work_mem", "EXCEPT ALL", "; COMMIT", "ROLLBACK AND CHAIN", `E'`, "U&'", "BC'", "ON CONFLICT", "WITH x AS (DELETE", "TRAIN OR REPLACE MODEL", "ON DELETE SET DEFAULT"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no statement has %s", want)
		}
	}
}

func TestJudgeTraining(t *testing.T) {
	ok, refused := &answer{}, &answer{code: "22023"}
	two := func(a, b string) *answer { return &answer{rows: [][]cell{{{text: a}, {text: b}}}} }
	for _, c := range []struct {
		answers []*answer
		want    string
	}{
		{[]*answer{ok, ok, two("5", "5"), two("2", "1")}, ""},
		{[]*answer{refused, refused, {code: "42704"}, two("0", "0")}, ""},
		{[]*answer{ok, refused, two("5", "5"), two("1", "1")}, "two trainings end differently"},
		{[]*answer{{code: "42804"}, {code: "42804"}, refused, two("0", "0")}, "a training fails with 42804"},
		{[]*answer{ok, ok, refused, two("2", "1")}, "a model does not predict its own rows: 22023"},
		{[]*answer{ok, ok, two("5", "4"), two("2", "1")}, "a prediction has another number of rows"},
		{[]*answer{ok, ok, two("5", "5"), two("2", "2")}, "two trainings give other bytes"},
	} {
		if got := judgeTraining(c.answers); got.failure != c.want {
			t.Errorf("%+v: %q, want %q", c.answers, got.failure, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	one := &answer{tag: "SELECT 1", names: []string{"c"}, types: []uint32{23}, rows: [][]cell{{{text: "1"}}}}
	two := &answer{tag: "SELECT 1", names: []string{"c"}, types: []uint32{23}, rows: [][]cell{{{text: "2"}}}}
	done, bad := &answer{tag: "SET"}, &answer{code: "42501"}
	setting := trial{kind: "settings", parts: []string{"SELECT 1"}, knob: "batch_size = 1"}
	peer := trial{kind: "peer", parts: []string{"SET ROLE r", "SELECT 1"}, after: []string{"RESET ROLE"}}
	for _, c := range []struct {
		trial          trial
		answers, other []*answer
		want           string
		apart, refused bool
	}{
		{trial: setting, answers: []*answer{one, done, one, done}},
		{trial: setting, answers: []*answer{one, done, two, done}, want: "other rows"},
		{trial: peer, answers: []*answer{done, one, done}, other: []*answer{done, one, done}},
		{trial: peer, answers: []*answer{done, one, done}, other: []*answer{done, bad, done}, want: "an error on one side", apart: true},
		{trial: peer, answers: []*answer{done, bad, done}, other: []*answer{done, bad, done}, refused: true},
		{trial: peer, answers: []*answer{done, bad, done}, other: []*answer{done, {code: "42703"}, done}, want: "another class of error", refused: true},
		{trial: peer, answers: []*answer{done, {lost: true}}, other: []*answer{done, one, done}, want: "lost connection:  "},
		{trial: peer, answers: []*answer{done}, other: []*answer{done, one, done}, apart: true},
	} {
		got := c.trial.judge(c.answers, c.other, nil)
		if got.failure != c.want || got.apart != c.apart || got.refused != c.refused {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestSameRows: answers that may differ from PostgreSQL's, such as the last digits of a sum of floats,
// are equal; others are not.
func TestSameRows(t *testing.T) {
	of := func(oid uint32, texts ...string) *answer {
		a := &answer{tag: "SELECT", names: []string{"c"}, types: []uint32{oid}}
		for _, s := range texts {
			a.rows = append(a.rows, []cell{{text: s}})
		}
		return a
	}
	const one, other = "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17", "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x17"
	for _, c := range []struct {
		a, b *answer
		same bool
	}{
		{of(701, "2147483649", "2147483646", "2147483650"), of(701, "2147483650", "2147483649", "2147483646"), true},
		{of(701, "2147483649", "2147483646"), of(701, "2147483650", "2147483649"), false},
		{of(701, "0"), of(701, "-4.650212529396741e-18"), true},
		{of(701, "0"), of(701, "1e-12"), false},
		{of(1007, one), of(1007, other), true},
		{of(2249, "\x00\x00\x00\x01\x00\x00\x03\xf1"+one), of(2249, "\x00\x00\x00\x01\x00\x00\x03\xf1"+other), true},
		{of(2249, "\x00\x00\x00\x01\x00\x00\x02\xc1\x00\x00\x00\x01a"), of(2249, "\x00\x00\x00\x01\x00\x00\x00\x19\x00\x00\x00\x01a"), true},
		{of(20, one[:8]), of(20, other[:8]), false},
		{of(1007, one), of(1007, one+"\x00"), false},
	} {
		if why := sameRows(c.a, c.b, false); (why == "") != c.same {
			t.Errorf("%+v, %+v: %q", c.a.rows, c.b.rows, why)
		}
	}
}

func TestResume(t *testing.T) {
	o := Options{Seed: 3, Cases: t.TempDir()}
	c := &campaign{o: o, out: &bytes.Buffer{}, early: map[int]tally{}}
	if err := c.ended(1, tally{Statements: every}); err != nil {
		t.Fatal(err)
	}
	if c.total.Round != 0 || c.total.Statements != 0 {
		t.Errorf("a round counts before an earlier one: %+v", c.total)
	}
	if err := c.ended(0, tally{Statements: 1, Differences: 2, Kinds: map[string]int{"SELECT": 1}}); err != nil {
		t.Fatal(err)
	}
	again := &campaign{o: o}
	if err := again.load(); err != nil {
		t.Fatal(err)
	}
	if got := again.total; again.next != 2 || got.Statements != every+1 || got.Differences != 2 || got.Kinds["SELECT"] != 1 {
		t.Errorf("%d %+v", again.next, got)
	}
}

func TestInlined(t *testing.T) {
	params := make([]param, 11)
	params[0], params[1], params[10] = param{text: "it's"}, param{null: true}, param{text: "x"}
	if got := inlined("SELECT $1::text, $2, $11", params); got != "SELECT 'it''s'::text, NULL, 'x'" {
		t.Error(got)
	}
}

func TestTokens(t *testing.T) {
	sql := "SELECT 'it ''s (', a.b[1] FROM t  WHERE (x >= 1.5)"
	list := tokens(sql)
	if got := strings.Join(list, ""); got != sql {
		t.Errorf("%q", got)
	}
	at := slices.Index(list, "(")
	if at < 0 || !balanced(list) || balanced(list[at:len(list)-1]) || !balanced(list[at:]) {
		t.Errorf("%q", list)
	}
}

func TestCompare(t *testing.T) {
	rows := func(oid uint32, texts ...string) *answer {
		a := &answer{tag: "SELECT", names: []string{"c"}, types: []uint32{oid}}
		for _, s := range texts {
			a.rows = append(a.rows, []cell{{text: s, null: s == "NULL"}})
		}
		return a
	}
	pairs := func(cells ...cell) *answer {
		a := &answer{tag: "SELECT", names: []string{"a", "b"}, types: []uint32{16, 25}}
		for row := range slices.Chunk(cells, 2) {
			a.rows = append(a.rows, row)
		}
		return a
	}
	null, yes := cell{null: true}, cell{text: "\x01"} // true in binary format
	fails := func(code string) *answer { return &answer{code: code} }
	for _, c := range []struct {
		a, b           *answer
		ordered, risky bool
		want           verdict
	}{
		{a: rows(23, "1", "2", "2"), b: rows(23, "2", "1", "2")},
		{a: rows(23, "1", "2", "2"), b: rows(23, "2", "1", "1"), want: verdict{failure: "other rows"}},
		{a: rows(23, "1", "2"), b: rows(23, "2", "1"), ordered: true, want: verdict{failure: "other rows"}},
		{a: rows(25, "NULL"), b: rows(25, ""), want: verdict{failure: "other rows"}},
		{a: rows(23, "1"), b: rows(20, "1"), want: verdict{failure: "other column types: [23], [20]"}},
		{a: rows(oidFloat8, "0.30000000000000004", "NaN"), b: rows(oidFloat8, "NaN", "0.3")},
		{a: rows(oidFloat8, "0.3001"), b: rows(oidFloat8, "0.3"), want: verdict{failure: "other rows"}},
		{a: pairs(null, null, null, yes), b: pairs(null, yes, null, null)},
		{a: pairs(cell{text: "x"}, cell{text: "\x00y"}, cell{text: "x\x00"}, cell{text: "y"}), b: pairs(cell{text: "x\x00"}, cell{text: "y"}, cell{text: "x"}, cell{text: "\x00y"})},
		{a: fails("22012"), b: fails("22003")},
		{a: &answer{tag: "INSERT 0 1", code: "22012"}, b: fails("22012"), want: verdict{failure: "other statements before the error"}},
		{a: &answer{tag: "COMMIT", block: 'T'}, b: &answer{tag: "COMMIT", block: 'I'}, want: verdict{failure: "another state of the transaction"}},
		{a: fails("22012"), b: fails("42883"), want: verdict{failure: "another class of error"}},
		{a: fails("22012"), b: rows(23, "1"), want: verdict{failure: "an error on one side"}},
		{a: rows(23, "1"), b: fails("22012"), risky: true, want: verdict{allowed: "one-sided 22"}},
		{a: fails("0A000"), b: rows(23, "1"), want: verdict{allowed: "0A000"}},
		{a: rows(23, "1"), b: fails("42P21"), want: verdict{allowed: "the other refuses"}},
		{a: fails("XX000"), b: fails("XX000"), risky: true, want: verdict{failure: "internal error XX000: "}},
	} {
		if got := compare(c.a, c.b, c.ordered, c.risky, []string{"0A000"}); got != c.want {
			t.Errorf("%s against %s: %+v, want %+v", c.a.brief(), c.b.brief(), got, c.want)
		}
	}
}

// TestUnsettled: the generator avoids statements whose result PostgreSQL does not define, as the order
// in which foreign keys act.
func TestUnsettled(t *testing.T) {
	foreign := regexp.MustCompile(`REFERENCES \w+(?:\(id\))?( ON DELETE (?:CASCADE|SET NULL|RESTRICT))?`)
	var cascades, keeps, avoided int
	for seed := range uint64(300) {
		g := &generator{r: rand.New(rand.NewPCG(seed, 1)), schema: "s", role: "s_role"}
		cascade, keep := false, false
		ctes := map[string]bool{}
		for _, c := range g.create() {
			for _, m := range foreign.FindAllStringSubmatch(c.sql, -1) {
				cascade = cascade || m[1] == " ON DELETE CASCADE"
				keep = keep || m[1] == "" || m[1] == " ON DELETE RESTRICT"
			}
			if name, ok := strings.CutPrefix(c.sql, "CREATE VIEW "); ok && strings.Contains(c.sql, "WITH w") {
				ctes[strings.Fields(name)[0]] = true
			}
		}
		if cascade && keep {
			t.Errorf("seed %d: rows that go with a row and rows that keep it", seed)
		}
		if cascade {
			cascades++
		}
		if keep {
			keeps++
		}
		for range 200 {
			q := g.question()
			if len(ctes) == 0 || !strings.HasPrefix(q.parts[0], "SET ROLE") {
				continue
			}
			avoided++
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(strings.Join(q.parts, " "), -1) {
				if ctes[word] {
					t.Errorf("seed %d: a role reads a view with a CTE: %q", seed, q.parts)
				}
			}
		}
	}
	if cascades == 0 || keeps == 0 || avoided == 0 {
		t.Errorf("%d with cascades, %d without, %d trials of roles beside views with a CTE", cascades, keeps, avoided)
	}
}
