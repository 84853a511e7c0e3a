package node

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestRowsThatAreThere compares all fields of the errors of ALTER TABLE and CREATE INDEX over existing
// rows with PostgreSQL 15's; the corpus (alter_table.slt) has only their SQLSTATEs.
func TestRowsThatAreThere(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("create table p (a int, b int, primary key (a, b)); insert into p values (1, 2)")
	c.must("create table t (a int, b text); insert into t values (1, 'Ab'), (1, 'aB'), (null, 'long')")
	c.must("create table f (x int, y int); insert into f values (1, 2), (1, null), (7, 8)")
	c.must("create table g (a int, b int generated always as (a + 1) stored)")
	for _, k := range []struct{ sql, want string }{
		{"alter table t alter a set not null", `23502 column "a" of relation "t" contains null values|t.a`},
		{"alter table t add n int not null", `23502 column "n" of relation "t" contains null values|t.n`},
		{"alter table t add n int not null, alter a type bigint", `23502 column "n" of relation "t" contains null values|t.n`},
		{"alter table t add n int default null not null", `23502 column "n" of relation "t" contains null values|t.n`},
		{"alter table t add check (a < 1)", `23514 check constraint "t_a_check" of relation "t" is violated by some row|t:t_a_check`},
		{"alter table t add n int default 3 check (n > 3)", `23514 check constraint "t_n_check" of relation "t" is violated by some row|t:t_n_check`},
		{"alter table t add unique (a)", `23505 could not create unique index "t_a_key"|t:t_a_key|Key (a)=(1) is duplicated.`},
		{"alter table t add primary key (a)", `23505 could not create unique index "t_pkey"|t:t_pkey|Key (a)=(1) is duplicated.`},
		{"create unique index i on t (lower(b))", `23505 could not create unique index "i"|t:i|Key (lower(b))=(ab) is duplicated.`},
		{"create unique index i on t ((a + 1), (b is null)) where a > 0", `23505 could not create unique index "i"|t:i|Key ((a + 1), (b IS NULL))=(2, f) is duplicated.`},
		{"alter table t add n int default 9, add unique nulls not distinct (n)", `23505 could not create unique index "t_n_key"|t:t_n_key|Key (n)=(9) is duplicated.`},
		{"alter table f add foreign key (x, y) references p", `23503 insert or update on table "f" violates foreign key constraint "f_x_y_fkey"|f:f_x_y_fkey|Key (x, y)=(7, 8) is not present in table "p".`},
		{"alter table f add foreign key (x, y) references p match full", `23503 insert or update on table "f" violates foreign key constraint "f_x_y_fkey"|f:f_x_y_fkey|MATCH FULL does not allow mixing of null and nonnull key values.`},
		{"alter table t alter b type varchar(2)", `22001 value too long for type character varying(2)|`},
		{"alter table t alter b type int", `42804 column "b" cannot be cast automatically to type integer|`},
		{"alter table t alter b type int using b", `42804 result of USING clause for column "b" cannot be cast automatically to type integer|`},
		{"alter table g alter a type bigint", `0A000 cannot alter type of a column used by a generated column||Column "a" is used by generated column "b".`},
		{"alter table g alter b type bigint using 3", `42611 cannot specify USING when altering type of generated column||Column "b" is a generated column.`},
		{"alter table g add c int generated always as (b) stored", `42P17 cannot use generated column "b" in column generation expression||A generated column cannot reference another generated column.`},
	} {
		_, err := c.do(k.sql)
		if err == nil {
			t.Errorf("%s: no error", k.sql)
			continue
		}
		e := pgerr.From(err)
		where := e.Table
		if e.Column != "" {
			where += "." + e.Column
		}
		if e.Constraint != "" {
			where += ":" + e.Constraint
		}
		got := string(e.Code) + " " + e.Message + "|" + where + "|" + e.Detail
		if strings.TrimSuffix(got, "|") != k.want && got != k.want {
			t.Errorf("%s:\n%s\nwant\n%s", k.sql, got, k.want)
		}
	}
}

// TestWidenedColumn: rows are not rewritten if the new type has all values of the old one. Constraints
// still find the old rows, and the limits of the new type apply.
func TestWidenedColumn(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("create table t (id int primary key, s varchar(4) unique, m numeric(4,2), at timestamp(0), check (length(s) < 10))")
	c.must("insert into t select g, 'k' || g, g, '2020-01-01'::timestamp + g * interval '1 s' from generate_series(1, 60) g")
	files := func() string {
		return strings.Join(c.must("select id from cluster.segments where \"table\" = 't' order by id"), " ")
	}
	before := files()
	for _, sql := range []string{
		"alter table t alter id type int",
		"alter table t alter s type varchar(4)",
		"alter table t alter s type varchar(6), alter m type numeric(6,2), alter at type timestamp(3)",
		"alter table t alter s type text, alter at type timestamp",
		"alter table t alter s type varchar",
	} {
		c.must(sql)
		if got := files(); got != before {
			t.Errorf("%s wrote the rows anew: %s, then %s", sql, before, got)
		}
	}
	c.must("insert into t values (61, 'k61 long', 1234.56, '2020-01-01 00:00:00.25')")
	for _, k := range []struct{ sql, want string }{
		{"insert into t values (62, 'k7', 1, now())", "23505"},
		{"insert into t values (62, 'k62 is longer', 1, now())", "23514"},
		{"insert into t values (62, 'k62', 12345, now())", "22003"},
		{"alter table t alter m type numeric(4,2)", "22003"},
		{"alter table t alter s type varchar(4)", "22001"},
	} {
		if _, err := c.do(k.sql); string(pgerr.From(err).Code) != k.want {
			t.Errorf("%s: %v, want %s", k.sql, err, k.want)
		}
	}
	if got := c.must("select id, m, at from t where s in ('k7', 'k61 long') order by id"); strings.Join(got, ";") != "7|7.00|2020-01-01 00:00:07;61|1234.56|2020-01-01 00:00:00.25" {
		t.Error(got)
	}
	before = files()
	if c.must("alter table t alter s type varchar(12)"); files() == before {
		t.Error("a shorter type was not looked at")
	}
}
