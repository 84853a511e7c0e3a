package node

import (
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// spillStatements are of all kinds of operators that write rows to the disk, over tables of several segments,
// of which rows were deleted and replaced. Those with ORDER BY on the outside are compared in order.
var spillStatements = []struct {
	name, sql string
	ordered   bool
}{
	{"sort", "select id, h from sl order by h, id", true},
	{"sort by text", "select h, dk from sl order by h desc, dk", true},
	{"sort with a large limit", "select id, h from sl order by h, id limit 9000", true},
	{"first_value", "select id, first_value(h) over (partition by dk order by id) from sl", false},
	{"row_number", "select id, h, row_number() over (partition by dk order by id) from sl", false},
	{"sum by few", "select id, h, sum(v) over (partition by dk order by id) from sl", false},
	{"sum by many", "select id, h, sum(v) over (partition by v order by id) from sl", false},
	{"framed count", "select id, h, count(*) over (partition by dk order by id rows between 5 preceding and 3 following) from sl", false},
	{"window by nothing", "select id, h, count(*) over (), lag(v) over () is distinct from -1 from sl", false},
	{"two windows", "select id, h, rank() over (partition by dk order by id), sum(v) over (partition by dk, v order by id) from sl", false},
	{"lag", "select id, lag(h, 3) over (order by id) from sl", false},
	{"top of groups", "select id, h from (select id, h, row_number() over (partition by v order by h) r from sl) q where r <= 3", false},
	{"lateral limit", "select v, q.* from (select distinct v from sl) d, lateral (select h from sl where sl.v = d.v order by h limit 2) q", false},
	{"inner join", "select a.id, b.h from sl a join sl b on a.id = b.v + 100 where b.dk < 4", false},
	{"join of many", "select a.id, a.h, b.h from sl a join sl b on a.h = b.h", false},
	{"left join", "select a.id, a.h, b.h from sl a left join sr b on a.id = b.id", false},
	{"full join", "select a.id, a.h, b.id, b.h from sl a full join sr b on a.h = b.h", false},
	{"semi join", "select id, h from sl where h in (select h from sr)", false},
	{"anti join", "select id, h from sl a where not exists (select from sr b where a.h = b.h)", false},
	{"not in", "select id, h from sl a where h not in (select h from sr)", false},
	{"group by", "select h, count(*), sum(v) from sl group by h", false},
	{"grouping sets", "select h, dk, v, count(*) from sl group by grouping sets ((h), (dk, v), ())", false},
	{"rollup", "select dk, v, h, sum(id) from sl group by rollup (dk, v, h)", false},
	{"count distinct", "select dk, count(distinct h), count(distinct v) from sl group by dk", false},
	{"string_agg", "select dk, md5(string_agg(h, ',' order by id)) from sl group by dk", false},
	{"percentile", "select dk, percentile_disc(0.3) within group (order by h), mode() within group (order by v) from sl group by dk", false},
	{"distinct", "select distinct h, v from sl", false},
	{"distinct on", "select distinct on (v) v, h from sl order by v, h", true},
	{"union", "select h, id from sl union select h, id from sr", false},
	{"except all", "select h, id from sl except all select h, id from sr", false},
	{"intersect", "select h from sl intersect select h from sr", false},
	{"recursion", "with recursive r as (select id, h from sl where id < 8000 union select id + 8000, h from r where id < 16000) select * from r", false},
	{"materialized", "with m as materialized (select id, h from sl) select x.id, y.h from m x join m y on x.id = y.id + 1", false},
	{"groups, sorted", "select h, count(*) from sl group by h order by 2, 1", true},
	{"window of groups", "select h, c, sum(c) over (partition by c order by h) from (select h, count(*) c from sl group by h) q", false},
}

// spillKB are limits from too little to plenty.
func spillKB(full bool) (out []int) {
	step := 1.45
	if full {
		step = 1.06
	}
	for kb := 500.0; kb < 9000; kb *= step {
		out = append(out, int(kb))
	}
	return out
}

// TestSpills: whatever a statement may hold, and however many threads and rows in a batch it has, it returns
// the same rows or fails for want of memory. SPILLS=full makes the steps of the limits small and takes all
// sizes of batches with each, which takes half an hour.
func TestSpills(t *testing.T) {
	full := os.Getenv("SPILLS") == "full"
	for _, threads := range []int{1, 2} {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			n := start(t, 1, func(o *Options) { o.Threads = threads })[0]
			c := connect(t, n)
			for _, sql := range []string{"create table sl (id int, dk int, v int, h text)", "create table sr (id int, h text)",
				"insert into sl select i, i % 7, i % 1013, md5(i::text) from generate_series(1, 10000) i",
				"insert into sl select i, i % 7, i % 1013, md5(i::text) from generate_series(10001, 16000) i",
				"insert into sl select i, i % 7, i % 1013, md5(i::text) from generate_series(16001, 18000) i",
				"delete from sl where id % 97 = 5", "update sl set h = md5(h) where id % 89 = 3",
				"insert into sr select i, md5(i::text) from generate_series(1, 9000) i", "insert into sr select i, md5(i::text) from generate_series(15001, 22000) i"} {
				c.must(sql)
			}
			for k, st := range spillStatements {
				if testing.Short() && k%8 != threads {
					continue
				}
				t.Run(st.name, func(t *testing.T) {
					c := &client{t, c.s}
					want, err := rowsHash(c, st.sql, st.ordered)
					if err != nil {
						t.Fatal(err)
					}
					before, succeeded := n.pool.Spilled(), false
					for i, kb := range spillKB(full) {
						sizes := []int{[]int{8192, 500}[(i+k)%2]}
						if full {
							if sizes = []int{64, 1000, 8192}; i%8 == 0 {
								sizes = append(sizes, 1) // a row at a time takes long
							}
						}
						for _, size := range sizes {
							c.must(fmt.Sprintf("set batch_size = %d; set work_mem = '%dkB'", size, kb))
							got, err := rowsHash(c, st.sql, st.ordered)
							c.must("reset batch_size; reset work_mem")
							switch {
							case err == nil && got != want:
								t.Errorf("with %d kB and batches of %d: %d rows of hash %x, want %d of %x", kb, size, got.rows, got.hash, want.rows, want.hash)
							case err != nil && !pgerr.Is(err, pgerr.OutOfMemory):
								t.Errorf("with %d kB and batches of %d: %v", kb, size, err)
							}
							succeeded = succeeded || err == nil
						}
					}
					if !succeeded {
						t.Error("no limit is enough")
					}
					if n.pool.Spilled() == before {
						t.Error("nothing went through the disk")
					}
				})
			}
		})
	}
}

// hashed are a statement's rows: how many, and a hash.
type hashed struct {
	rows int
	hash uint64
}

// rowsHash runs a statement.
func rowsHash(c *client, sql string, ordered bool) (out hashed, err error) {
	rows, err := c.do(sql)
	for _, row := range rows {
		h := fnv.New64a()
		_, _ = h.Write([]byte(row))
		if out.rows++; ordered {
			out.hash *= 31
		}
		out.hash += h.Sum64()
	}
	return out, err
}
