package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
)

// tables creates, alters, fills, changes, truncates and drops tables; each is
// either as before or as after, in definition and rows.
type tables struct {
	made []*table
}

// table is the known and the possible contents of a table.
type table struct {
	name string
	is   contents
	may  *contents // if the outcome of the last operation is unknown
}

type contents struct {
	there bool
	extra bool // has the column x
	next  int64
	rows  map[int64]int64
}

func (c contents) clone() contents {
	c.rows = maps.Clone(c.rows)
	return c
}

// digest returns what queryDigest should return.
func (c contents) digest() string {
	if !c.there {
		return "none"
	}
	var n, k, v, kv int64
	for key, val := range c.rows {
		n++
		k += key
		v += val
		kv += key * (val % 1000)
	}
	x := int64(-1)
	if c.extra {
		x = 7 * n
	}
	return fmt.Sprint(n, k, v, kv, x)
}

const maxRows = 4000

func (w *tables) name() string { return "tables" }

func (w *tables) setup(context.Context, *session) error {
	for i := range 4 {
		w.made = append(w.made, &table{name: fmt.Sprintf("nm_table%d", i)})
	}
	return nil
}

func (w *tables) clients() []func(context.Context, *session) {
	return []func(context.Context, *session){w.run}
}

func (w *tables) run(ctx context.Context, s *session) {
	op := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		if t := w.made[s.r.IntN(len(w.made))]; t.may == nil {
			after := t.is.clone()
			statements := change(s, t.name, &after)
			if len(statements) == 1 && s.r.IntN(3) == 0 {
				statements = append(statements, change(s, t.name, &after)...)
			}
			o := refused
			if len(statements) == 1 {
				_, o = s.exec(op, statements[0])
			} else {
				o = s.tx(op, "BEGIN", func(ctx context.Context, conn *pgx.Conn) error {
					for _, sql := range statements {
						if _, err := conn.Exec(ctx, sql); err != nil {
							return err
						}
					}
					return nil
				})
			}
			switch o {
			case acked:
				t.is = after
			case unknown:
				t.may = &after
			}
		}
		wait(ctx, time.Duration(s.r.IntN(40))*time.Millisecond)
	}
}

// change chooses statements and does to c what they do to the table.
func change(s *session, name string, c *contents) []string {
	if !c.there {
		*c = contents{there: true, rows: map[int64]int64{}}
		if s.r.IntN(2) == 0 {
			return []string{"CREATE TABLE " + name + " (k int8, v int8)"}
		}
		fill(c, 300)
		return []string{"CREATE TABLE " + name + " AS SELECT g AS k, g * 7 % 1000 AS v FROM generate_series(0::int8, 299) g"}
	}
	insert := func() string {
		from, n := c.next, int64(1+s.r.IntN(500))
		fill(c, n)
		return fmt.Sprintf("INSERT INTO %s (k, v) SELECT g, g * 7 %% 1000 FROM generate_series(%d::int8, %d) g", name, from, from+n-1)
	}
	switch n := s.r.IntN(12); {
	case n < 4 && len(c.rows) < maxRows:
		return []string{insert()}
	case n < 6:
		m, by := int64(2+s.r.IntN(9)), int64(1+s.r.IntN(9))
		for k := range c.rows {
			if k%m == 1 {
				c.rows[k] += by
			}
		}
		return []string{fmt.Sprintf("UPDATE %s SET v = v + %d WHERE k %% %d = 1", name, by, m)}
	case n < 8:
		from := s.r.Int64N(c.next + 1)
		to := from + s.r.Int64N(400)
		maps.DeleteFunc(c.rows, func(k, _ int64) bool { return k >= from && k <= to })
		return []string{fmt.Sprintf("DELETE FROM %s WHERE k BETWEEN %d AND %d", name, from, to)}
	case n == 8:
		clear(c.rows)
		return []string{"TRUNCATE " + name}
	case n == 9:
		clear(c.rows)
		return []string{"TRUNCATE " + name, insert()}
	case n == 10:
		c.extra = !c.extra
		if c.extra {
			return []string{"ALTER TABLE " + name + " ADD COLUMN x int8 DEFAULT 7"}
		}
		return []string{"ALTER TABLE " + name + " DROP COLUMN x"}
	}
	*c = contents{}
	return []string{"DROP TABLE " + name}
}

func fill(c *contents, n int64) {
	for range n {
		c.rows[c.next] = c.next * 7 % 1000
		c.next++
	}
}

func (w *tables) check(ctx context.Context, s *session, first bool) error {
	for _, t := range w.made {
		got, err := queryDigest(ctx, s, t.name)
		if err != nil {
			return err
		}
		if first && t.may != nil {
			if got == t.may.digest() {
				t.is = *t.may
			}
			t.may = nil
		}
		if want := t.is.digest(); got != want {
			return fmt.Errorf("%s is %s, not %s", t.name, got, want)
		}
	}
	return nil
}

// queryDigest reads a table: rows, sums, and the sum of x.
func queryDigest(ctx context.Context, s *session, name string) (string, error) {
	rows, err := s.read(ctx, "SELECT count(*) FILTER (WHERE column_name = 'x') FROM information_schema.columns WHERE table_name = $1 HAVING count(*) > 0", name)
	if err != nil || len(rows) == 0 {
		return "none", err
	}
	x := "-1::int8"
	if number(rows[0][0]) > 0 {
		x = "coalesce(sum(x), 0)::int8"
	}
	if rows, err = s.read(ctx, fmt.Sprintf("SELECT count(*), coalesce(sum(k), 0)::int8, coalesce(sum(v), 0)::int8, coalesce(sum(k * (v %% 1000)), 0)::int8, %s FROM %s", x, name)); err != nil {
		return "", err
	}
	r := rows[0]
	return fmt.Sprint(number(r[0]), number(r[1]), number(r[2]), number(r[3]), number(r[4])), nil
}

func (w *tables) endRound() {}
