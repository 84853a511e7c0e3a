package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// long are statements whose values, or whose intermediate values, take hundreds of megabytes, and
// their results where memory suffices ("" where any result is accepted).
var long = []struct{ sql, want string }{
	{`select length(repeat('x',1000000000))`, "1000000000"},
	{`select length(repeat('x',100000000)||repeat('x',100000000))`, "200000000"},
	{`select length(replace(repeat('a',1000000),'a',repeat('b',1000)))`, "1000000000"},
	{`select cardinality(string_to_array(repeat(',',20000000),','))`, "20000001"},
	{`select count(*) from unnest(string_to_array(repeat(',',3000000),','))`, "3000001"},
	{`select length(encode(decode(repeat('00',100000000),'hex'),'base64'))`, "135087719"},
	{`with recursive r(s,n) as (select 'x'::text, 1 union all select s||s, n+1 from r where n < 40) select max(length(s)) from r`, ""},
	{`select length(string_agg(repeat('x',1000000),',')) from generate_series(1,2000)`, ""},
	{`select cardinality(array_agg(repeat('x',1000000))) from generate_series(1,2000)`, "2000"},
	{`select cardinality(array_agg(repeat('x',1000000) order by n)) from generate_series(1,2000) n`, "2000"},
	{`select length(a||a||a||a||a||a||a||a||a||a||a||a||a||a||a) from (values (repeat('x',100000000))) v(a)`, ""},
	{`with recursive r(n) as (select 1 union select n+1 from r where n < 200000) select count(*) from r`, "200000"},
	{`select length(regexp_replace(repeat('a',1000000),'a',repeat('b',1000),'g'))`, "1000000000"},
	{`select count(*) from regexp_split_to_table(repeat(',',3000000),',')`, "3000001"},
	{`select jsonb_array_length(('['||repeat('1,',2000000)||'1]')::jsonb)`, "2000001"},
	{`select length(array_fill(repeat('x',1000000), array[8000])::text)`, ""},
	{`select repeat('x',20000000)`, strings.Repeat("x", 20000000)},
}

// TestLongValues: statements whose values do not fit in memory are refused, also when several sessions
// run them at once; the process stays within its limit, and other sessions work meanwhile.
func TestLongValues(t *testing.T) {
	const memory = 512
	p, err := launch(t, t.TempDir(), "serve", "--data", t.TempDir(), "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0",
		"--listen-cluster", "127.0.0.1:0", "--memory", "512MiB", "--threads", "2")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var askers sync.WaitGroup
	for asker := range 4 {
		c := p.connect().PgConn()
		askers.Go(func() {
			for i := range long {
				at := (i + 4*asker) % len(long)
				if testing.Short() && at%4 != asker {
					continue // each is asked once
				}
				s := long[at]
				r := c.ExecParams(ctx, s.sql, nil, nil, nil, nil).Read()
				var e *pgconn.PgError
				switch {
				case errors.As(r.Err, &e) && (e.Code == "53200" || e.Code == "54000"):
				case r.Err != nil:
					t.Errorf("%s: %v", s.sql, r.Err)
				case s.want != "" && string(r.Rows[0][0]) != s.want:
					t.Errorf("%s: %.20q", s.sql, r.Rows[0][0])
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { askers.Wait(); close(done) }()
	other := p.connect()
	for asking := true; asking; {
		if n := value[int](t, other, "select 1"); n != 1 {
			t.Fatal(n)
		}
		select {
		case <-done:
			asking = false
		case <-time.After(20 * time.Millisecond): // only spaces out the queries: no event is awaited
		}
	}
	most := statusKiB(t, p.Pid(), "VmHWM") >> 10
	if most > memory+188 {
		t.Errorf("the process took %d MiB under a limit of %d", most, memory)
	}
}

// TestLongWorkIsCancelled: a statement that would take minutes ends when it is cancelled.
func TestLongWorkIsCancelled(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	c := p.connect()
	do(t, c, "set statement_timeout = '300ms'")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, sql := range []string{
		`select string_agg(i::text, ',') over (order by i rows between unbounded preceding and unbounded following exclude current row) from generate_series(1,100000) i`,
		`select array_agg(i) over (order by i rows between unbounded preceding and unbounded following exclude ties) from generate_series(1,100000) i`,
		`select repeat('a', 60) ~ '^(a|aa)+(x?)\2[b-d]$'`,
		`select length(repeat('ab', 20000000)) where repeat('ab', 20000000) ~ '(a|b|ab)*\yc'`,
		`select count(*) from generate_series(1,100000) i, lateral (select translate(repeat('a',100000), 'a', i::text) as s where i > 0) t where s < '0'`,
		`select count(*) from generate_series(1,1000000) i group by cube (i,i%2,i%3,i%4,i%5,i%6,i%7,i%8,i%9,i%10,i%11,i%12)`,
	} {
		_, err := c.Exec(ctx, sql)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "57014" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
