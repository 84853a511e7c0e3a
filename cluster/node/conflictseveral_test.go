package node

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// severalKeys is the reference implementation of ON CONFLICT DO NOTHING without a target, for a table
// with several unique keys.
type severalKeys struct {
	keys []func(row [4]any) string // "" where the row has none
	seen []map[string]bool
	rows []string
}

// insert executes a statement on the reference, row by row.
func (s *severalKeys) insert(rows [][4]any) (returned []string) {
	for _, r := range rows {
		free := true
		for i, key := range s.keys {
			free = free && !s.seen[i][key(r)]
		}
		if !free {
			continue
		}
		for i, key := range s.keys {
			if k := key(r); k != "" {
				s.seen[i][k] = true
			}
		}
		returned = append(returned, severalText(r))
	}
	s.rows = append(s.rows, returned...)
	return returned
}

func severalText(r [4]any) string {
	var out []string
	for _, v := range r {
		if v == nil {
			v = "NULL"
		}
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, "|")
}

// TestOnConflictSeveral inserts random rows, few and many, into a table with several unique
// constraints, and compares with inserting them one by one. The order of the rows matters: one that
// is skipped for one of its keys does not occupy its other keys, so a later row can have these.
func TestOnConflictSeveral(t *testing.T) {
	if testing.Short() {
		testOnConflictSeveral(t, connect(t, start(t, 3)[2], spread), 3000)
		return
	}
	t.Run("one node", func(t *testing.T) { testOnConflictSeveral(t, connect(t, start(t, 1)[0]), 9500) })
	t.Run("small batches", func(t *testing.T) {
		testOnConflictSeveral(t, connect(t, start(t, 1)[0], "batch_size = 64"), 9000)
	})
	t.Run("three nodes", func(t *testing.T) { testOnConflictSeveral(t, connect(t, start(t, 3)[2], spread), 12000) })
	t.Run("small memory", func(t *testing.T) { testOnConflictSeveral(t, connect(t, startSmall(t), "work_mem = '1MB'"), 20000) })
}

func testOnConflictSeveral(t *testing.T, c *client, many int) {
	rng := rand.New(rand.NewSource(55))
	text := func(v any) string { return fmt.Sprint("=", v) }
	all := []struct {
		ddl string
		key func(r [4]any) string
	}{
		{"unique (a)", func(r [4]any) string {
			if r[0] == nil {
				return ""
			}
			return text(r[0])
		}},
		{"unique nulls not distinct (b, c)", func(r [4]any) string {
			f := r[2]
			if f != nil {
				f = strings.TrimSuffix(fmt.Sprint(f), ".0") // 1.0 = 1 as numerics
			}
			return text(r[1]) + text(f)
		}},
		{"create unique index on t (lower(d)) where a > 10", func(r [4]any) string {
			if r[0] == nil || r[0].(int) <= 10 || r[3] == nil {
				return ""
			}
			return text(strings.ToLower(r[3].(string)))
		}},
		{"create unique index on t (d) nulls not distinct where a < 500", func(r [4]any) string {
			if r[0] == nil || r[0].(int) >= 500 {
				return ""
			}
			return text(r[3])
		}},
	}
	inserted, refused := 0, 0
	for round := range 8 {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		ref := &severalKeys{}
		c.must("drop table if exists t; create table t (a int, b text, c numeric, d text)")
		for _, k := range all[:1+(round+1)%len(all)] {
			if ddl := k.ddl; strings.HasPrefix(ddl, "create") {
				c.must(ddl)
			} else {
				c.must("alter table t add " + ddl)
			}
			ref.keys, ref.seen = append(ref.keys, k.key), append(ref.seen, map[string]bool{})
		}
		for turn := range 3 {
			n := 1 + rng.Intn(200)
			if turn == 1 {
				n = many
			}
			rows := make([][4]any, n)
			var values []string
			span := 1 + rng.Intn(3*n)
			for i := range rows {
				pick := func(v any) any {
					if rng.Intn(20) == 0 {
						return nil
					}
					return v
				}
				num := fmt.Sprint(rng.Intn(20))
				if rng.Intn(2) == 0 {
					num += ".0"
				}
				rows[i] = [4]any{pick(rng.Intn(span)), pick(fmt.Sprint("b", rng.Intn(1+span/10))), pick(num), pick(fmt.Sprintf("%c%d", "xX"[rng.Intn(2)], rng.Intn(span)))}
				var v []string
				for _, x := range rows[i] {
					switch s, ok := x.(string); {
					case x == nil:
						v = append(v, "null")
					case ok:
						v = append(v, "'"+s+"'")
					default:
						v = append(v, fmt.Sprint(x))
					}
				}
				values = append(values, fmt.Sprintf("(%d, %s)", i, strings.Join(v, ", ")))
			}
			c.must("drop table if exists p; create table p (n int, a int, b text, c numeric, d text)")
			for part := range slices.Chunk(values, 2000) {
				c.must("insert into p values " + strings.Join(part, ", "))
			}
			want := ref.insert(rows)
			got := c.must("insert into t select a, b, c, d from p order by n on conflict do nothing returning a, b, c, d")
			inserted, refused = inserted+len(want), refused+n-len(want)
			if !slices.Equal(got, want) { // RETURNING's rows are in the order of the input
				t.Fatalf("round %d: of %d rows over %d keys %d were inserted, not %d\n%.600v\n%.600v", round, n, len(ref.keys), len(got), len(want), got, want)
			}
			left := c.must("select a, b, c, d from t")
			slices.Sort(left)
			if all := slices.Sorted(slices.Values(ref.rows)); !slices.Equal(left, all) {
				t.Fatalf("round %d: %d rows are left, not %d", round, len(left), len(all))
			}
		}
	}
	if inserted < many || refused < many {
		t.Errorf("%d rows were inserted, %d not", inserted, refused)
	}
}

// TestOnConflictOwnEquality: keys conflict if they are equal in SQL although their bytes differ, as
// 1.0 and 1.00.
func TestOnConflictOwnEquality(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("create table n (a numeric primary key, b float8 unique)")
	for _, x := range []struct{ sql, want string }{
		{"insert into n values (1.0, 0), (1.00, 1), (2, '-0'), (3, 'nan'), (4, 'nan') on conflict do nothing returning a, b", "1.0|0,3|NaN"},
		{"insert into n values (5, 5), (5.000, 6) on conflict (a) do nothing returning a, b", "5|5"},
	} {
		if got := strings.Join(c.must(x.sql), ","); got != x.want {
			t.Errorf("%s gives %s, not %s", x.sql, got, x.want)
		}
	}
	if _, err := c.do("insert into n values (6, 8), (6.0, 9) on conflict (a) do update set b = excluded.b"); err == nil {
		t.Error("a row may be affected twice")
	}
}

// TestOnConflictLarge: with several constraints, keys of more rows than fit in memory are spilled.
func TestOnConflictLarge(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	c.must("create table t (a int primary key, b text unique)")
	// Rows 2k and 2k + 1 have the same b, and every third row has an a that is in the table.
	c.must("insert into t select i, 'old' || i from generate_series(0, 300000, 3) i")
	c.must("insert into t select i, md5((i / 2)::text) from generate_series(1, 300000) i on conflict do nothing")
	want := fmt.Sprintf("%d", 100001+func() (fresh int) {
		taken := map[int]bool{}
		for i := 1; i <= 300000; i++ {
			if i%3 != 0 && !taken[i/2] {
				taken[i/2] = true
				fresh++
			}
		}
		return fresh
	}())
	if got := c.must("select count(*) from t"); got[0] != want {
		t.Errorf("%s rows, not %s", got[0], want)
	}
	if n.pool.Peak() > n.pool.Limit() || n.pool.Spilled() == 0 || n.left() != 0 {
		t.Errorf("the pool of %d bytes held %d, %d went through the disk, %d are left", n.pool.Limit(), n.pool.Peak(), n.pool.Spilled(), n.left())
	}
}
