package node

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/coord"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// startSmall starts a cluster of one node with a pool of 32 MiB.
func startSmall(t *testing.T) *Node {
	t.Helper()
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	n, err := Start(context.Background(), Options{Data: t.TempDir(), Name: "n1", Memory: 128 << 20, Threads: 2, ListenCluster: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	if n.pool.Limit() != 32<<20 {
		t.Fatalf("a pool of %d bytes", n.pool.Limit())
	}
	return n
}

// TestPlansAreCharged: a statement of few words whose trees are large, through views, is refused before it
// takes the memory.
func TestPlansAreCharged(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	c.must("create table v0 as select 1 as a, 2 as b")
	for i := range 14 {
		c.must(fmt.Sprintf("create view v%d as select a, b from v%d union all select b, a from v%d", i+1, i, i))
	}
	if got := c.must("select count(*), sum(a) from v8"); got[0] != "256|384" {
		t.Error(got)
	}
	const sql = "prepare p as select count(*) from v14"
	if got, err := c.do(sql); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Error(sql, got, err)
	}
	if used := n.pool.Used(); used > 16<<20 {
		t.Errorf("%d bytes are still charged", used)
	}
}

const memoryRows = 400_000

func makeMemoryRows(c *client) {
	c.must(fmt.Sprintf("create table big as select i as id, md5(i::text) as s, (i*7 %% 1003)::float8 as x from generate_series(1,%d) i", memoryRows))
}

// TestSmallMemory: statements whose state does not fit in the node's pool succeed, by spilling.
func TestSmallMemory(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	makeMemoryRows(c)
	rows := c.must("select s, id from big order by s")
	if len(rows) != memoryRows || !slices.IsSorted(rows) {
		t.Fatalf("%d rows, sorted: %v", len(rows), slices.IsSorted(rows))
	}
	seen := map[string]bool{}
	for _, r := range c.must("select s, count(*), sum(x) from big group by s") {
		s, rest, _ := strings.Cut(r, "|")
		if seen[s] || !strings.HasPrefix(rest, "1|") {
			t.Fatal(r)
		}
		seen[s] = true
	}
	if len(seen) != memoryRows {
		t.Fatalf("%d groups", len(seen))
	}
	if got := c.must("select count(*), sum(a.id - b.id) from big a join big b on a.s = b.s"); got[0] != fmt.Sprintf("%d|0", memoryRows) {
		t.Error(got)
	}
	c.must("create table more as select s, count(*) as n from big group by s")
	c.must("insert into more select s || 'x', id from big")
	if got := c.must("select count(*), sum(n) from more"); got[0] != fmt.Sprintf("%d|%d", 2*memoryRows, memoryRows+memoryRows*(memoryRows+1)/2) {
		t.Error(got)
	}
	if n.pool.Peak() > n.pool.Limit() {
		t.Errorf("the pool of %d bytes held %d", n.pool.Limit(), n.pool.Peak())
	}
	if n.pool.Spilled() == 0 {
		t.Error("nothing went through the disk")
	}
	if n.left() != 0 {
		t.Errorf("%d bytes are left", n.left())
	}
}

// TestGivesWay: an operator spills when another operator of the same statement needs the memory. So
// neither the values of several DISTINCT aggregates nor the keys of ON CONFLICT must fit in memory.
func TestGivesWay(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	makeMemoryRows(c)
	const rows = memoryRows
	for _, q := range []struct{ sql, want string }{
		{"select count(distinct s), count(distinct s || 'x'), count(distinct id % 1000), sum(id), count(*) from big",
			fmt.Sprintf("%d|%d|1000|%d|%d", rows, rows, rows*(rows+1)/2, rows)},
		{"select count(*), sum(a), sum(b) from (select id % 7 as g, count(distinct s) as a, count(distinct id) as b from big group by 1) q",
			fmt.Sprintf("7|%d|%d", rows, rows)},
		{"select count(*), sum(r + n) from (select s, sum(id) over (partition by s order by id) as r, count(*) as n from big group by s, id, x) q",
			fmt.Sprintf("%d|%d", rows, rows+rows*(rows+1)/2)},
		{"select count(*), sum(r) from (select s, row_number() over (partition by id / 3 order by s) as r from big) q", fmt.Sprintf("%d|799998", rows)},
	} {
		if got, err := c.do(q.sql); err != nil || got[0] != q.want {
			t.Errorf("%s\n%v %v, want %s", q.sql, got, err, q.want)
		}
	}
	c.must("create table keyed (id bigint primary key, v text)")
	c.must("insert into keyed select id, 'old' from big where id <= 100000")
	c.must("insert into keyed select id, s from big on conflict (id) do update set v = excluded.v || 'n'")
	if got := c.must("select count(*), count(*) filter (where v = s || 'n'), count(*) filter (where v = s) from keyed join big using (id)"); got[0] != fmt.Sprintf("%d|100000|%d", rows, rows-100000) {
		t.Error(got)
	}
	c.must("insert into keyed select (id + 300000) / 2 + 200000, 'once' from big on conflict do nothing")
	if got := c.must("select count(*), count(*) filter (where v = 'once') from keyed"); got[0] != fmt.Sprintf("%d|%d", rows+150000, 150000) {
		t.Error(got)
	}
	if _, err := c.do("insert into keyed select id / 2, s from big on conflict (id) do update set v = ''"); !pgerr.Is(err, pgerr.CardinalityViolation) {
		t.Error(err)
	}
	if n.pool.Peak() > n.pool.Limit() {
		t.Errorf("the pool of %d bytes held %d", n.pool.Limit(), n.pool.Peak())
	}
	if n.left() != 0 {
		t.Errorf("%d bytes are left", n.left())
	}
}

// TestLargeWrites: the rows that a statement keeps for RETURNING and for referential actions need not
// fit in memory, and wide rows can be written while the sort before fills the pool.
func TestLargeWrites(t *testing.T) {
	t.Run("1 node", func(t *testing.T) { largeWrites(t, startSmall(t)) })
	t.Run("3 nodes", func(t *testing.T) {
		was := debug.SetMemoryLimit(-1)
		t.Cleanup(func() { debug.SetMemoryLimit(was) })
		largeWrites(t, start(t, 3, func(o *Options) { o.Memory = 128 << 20 })[0])
	})
}

func largeWrites(t *testing.T, n *Node) {
	c := connect(t, n)
	makeMemoryRows(c)
	const rows = memoryRows
	sum := rows * (rows + 1) / 2
	before := n.pool.Spilled()
	mustSpill := func(what string) {
		t.Helper()
		if n.pool.Spilled() == before {
			t.Errorf("%s has spilled nothing", what)
		}
		before = n.pool.Spilled()
	}
	for _, q := range []struct{ sql, want string }{
		{"with u as (update big set x = 1 returning id, s, s || s as d) select count(*), sum(id), sum(length(d)) from u", fmt.Sprintf("%d|%d|%d", rows, sum, rows*64)},
		{"select count(*), sum(x), sum(id) from big", fmt.Sprintf("%d|%d|%d", rows, rows, sum)},
	} {
		if got, err := c.do(q.sql); err != nil || got[0] != q.want {
			t.Errorf("%s\n%v %v, want %s", q.sql, got, err, q.want)
		}
		if strings.HasPrefix(q.sql, "with") {
			mustSpill("UPDATE RETURNING")
		}
	}
	if got := c.must("delete from big where id % 2 = 0 returning s, s || s, id"); len(got) != rows/2 {
		t.Errorf("%d rows are returned", len(got))
	}
	mustSpill("DELETE RETURNING")
	c.must("create table parent (s text primary key)")
	c.must("create table child (id bigint, s text references parent on update cascade)")
	c.must("insert into parent select md5(i::text) from generate_series(1, 300000) i")
	c.must("insert into child select i, md5((1 + i % 300000)::text) from generate_series(1, 100) i")
	before = n.pool.Spilled()
	c.must("update parent set s = s || s || s")
	mustSpill("UPDATE of referenced keys")
	if got := c.must("select count(*), count(*) filter (where c.s = p.s and length(c.s) = 96) from child c left join parent p using (s)"); got[0] != "100|100" {
		t.Error(got)
	}
	if _, err := c.do("update parent set s = case when s = (select max(s) from parent) then (select min(s) from parent) else s end"); !pgerr.Is(err, pgerr.UniqueViolation) {
		t.Error(err)
	}
	if n.pool.Peak() > n.pool.Limit() {
		t.Errorf("the pool of %d bytes held %d", n.pool.Limit(), n.pool.Peak())
	}
	before = n.pool.Spilled()
	c.must("create table wide as select id, repeat(s, 400) as r from big where id <= 12000 order by r")
	mustSpill("a sort before wide rows are written")
	if got := c.must("select count(*), sum(length(r)) from wide"); got[0] != fmt.Sprintf("6000|%d", 6000*400*32) {
		t.Error(got)
	}
	if n.left() != 0 {
		t.Errorf("%d bytes are left", n.left())
	}
}

// TestLongUpserts: what DO UPDATE computes of a batch's rows, its condition and RETURNING included, is
// computed for fewer of them at once where it does not fit for all: twenty rows come at once, and
// have 40 MB of new values.
func TestLongUpserts(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	c.must("create table long (id int primary key, v text)")
	c.must("insert into long select i, 'old' from generate_series(1, 40) i")
	got := c.must("insert into long select i, repeat(md5(i::text), 3125) from generate_series(1, 41) i on conflict (id) do update " +
		"set v = repeat(excluded.v, 20) where repeat(excluded.v, 20) <> long.v returning length(repeat(v, 3))")
	if len(got) != 41 || !slices.Contains(got, "300000") || !slices.Contains(got, "6000000") {
		t.Errorf("returned %v", got)
	}
	if got := c.must("select count(*), count(*) filter (where v = repeat(md5(id::text), 62500)), max(length(v)) from long"); got[0] != "41|40|2000000" {
		t.Error(got)
	}
	if n.left() != 0 {
		t.Errorf("%d bytes are left", n.left())
	}
}

// TestHog: a statement that needs more memory than the pool has fails with 53200, naming the node;
// concurrent ones succeed.
func TestHog(t *testing.T) {
	n := startSmall(t)
	makeMemoryRows(connect(t, n))
	hog, others := connect(t, n), []*client{connect(t, n), connect(t, n), connect(t, n)}
	var wg sync.WaitGroup
	for i, c := range others {
		wg.Go(func() {
			for k := range 2 {
				got, err := c.do(fmt.Sprintf("select s from big order by md5(s || '%d') offset %d", i, memoryRows-5-k))
				if err != nil || len(got) != 5+k {
					t.Errorf("%d rows, %v", len(got), err)
				}
			}
		})
	}
	for range 3 {
		if got, err := hog.do("select length(string_agg(repeat(s, 16), ',')) from big"); !pgerr.Is(err, pgerr.OutOfMemory) || !strings.Contains(err.Error(), "n1") {
			t.Errorf("%v, %v", got, err)
		}
	}
	wg.Wait()
}

// TestLongText: a statement whose parse tree does not fit in memory fails with 53200. A shorter list,
// and a long constant, which is one node of the tree, succeed.
func TestLongText(t *testing.T) {
	c := connect(t, startSmall(t))
	list := strings.Repeat("1,", 100_000) + "1"
	if got := c.must("select 1 where 1 in (" + list + ")"); got[0] != "1" { // one constant
		t.Error(got)
	}
	if _, err := c.do("select 1 where 1 in (" + strings.Repeat("1+0,", 100_000) + "1)"); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Error(err)
	}
	if got := c.must("select 1 where 1 in (" + list[:2001] + ")"); got[0] != "1" {
		t.Error(got)
	}
	if got := c.must("select length('" + strings.Repeat("x", 1<<20) + "')"); got[0] != fmt.Sprint(1<<20) {
		t.Error(got)
	}
}

// TestBulkWrite: rows that several threads write are checked against the table's constraints, and a
// statement that fails leaves the table as it was.
func TestBulkWrite(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	makeMemoryRows(c)
	c.must("create table w (id int primary key, s text not null, x float8 check (x >= 0), y float8 generated always as (x + 1) stored, d text default 'd')")
	c.must("insert into w (s, id, x) select s, id, x from big")
	sum := c.must("select count(*), count(distinct d), sum(y) - sum(x) from w")
	if sum[0] != fmt.Sprintf("%d|1|%d", memoryRows, memoryRows) {
		t.Error(sum)
	}
	for _, bad := range []struct {
		sql  string
		code pgerr.Code
		says string
	}{
		{"insert into w (id, s, x) select id + 1000000, nullif(id, 77777)::text, x from big", pgerr.NotNullViolation, `column "s" of relation "w"`},
		{"insert into w (id, s, x) select id + 1000000, s, x - 1002 from big", pgerr.CheckViolation, `"w_x_check"`},
		{"insert into w (id, s, x) select id, s, x from big where id > 1000", pgerr.UniqueViolation, `"w_pkey"`},
		{"insert into w (id, s, x) select id / 2 + 1000000, s, x from big", pgerr.UniqueViolation, `"w_pkey"`},
		{"create table v as select id, 1 / (id - 300000) as z from big", pgerr.DivisionByZero, ""},
	} {
		if _, err := c.do(bad.sql); !pgerr.Is(err, bad.code) || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s: %v", bad.sql, err)
		}
	}
	if got := c.must("select count(*), count(distinct d), sum(y) - sum(x) from w"); got[0] != sum[0] {
		t.Errorf("after failures %v, before %v", got, sum)
	}
	c.must("create table num as select id, (x / 3)::numeric(12,3) as z, x::int8 as i from big")
	if got := c.must("select count(*), sum(z) = (select sum((x / 3)::numeric(12,3)) from big), min(id), max(id) from num"); got[0] != fmt.Sprintf("%d|t|1|%d", memoryRows, memoryRows) {
		t.Error(got)
	}
}

// TestCursorPast: a cursor over more rows than fit in a batch returns, wherever it is moved, the rows
// that the query returns at these positions. A NO SCROLL cursor refuses to move backward.
func TestCursorPast(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	makeMemoryRows(c)
	before := n.pool.Spilled()
	want := c.must("select id, s from big order by id")
	sort := n.pool.Spilled() - before
	const kept = 4 << 20 // of the rows that a SCROLL cursor spills, a lower bound
	c.must("begin; declare k scroll cursor for select id, s from big order by id")
	r := rand.New(rand.NewSource(4))
	pos := 0 // as in PostgreSQL, 0 is before the first row
	for range 60 {
		at := 1 + r.Intn(memoryRows)
		var got, rows []string
		switch r.Intn(4) {
		case 0:
			got, rows = c.must(fmt.Sprintf("fetch absolute %d from k", at)), want[at-1:at]
			pos = at
		case 1:
			m := 1 + r.Intn(20000)
			end := min(pos+m, memoryRows)
			got, rows = c.must(fmt.Sprintf("fetch %d from k", m)), want[min(pos, end):end]
			if pos += m; pos > memoryRows {
				pos = memoryRows + 1
			}
		case 2:
			m := 1 + r.Intn(50)
			for i := pos - 1; i >= 1 && i >= pos-m; i-- {
				rows = append(rows, want[i-1])
			}
			got = c.must(fmt.Sprintf("fetch backward %d from k", m))
			pos = max(pos-m, 0)
		case 3:
			got = c.must(fmt.Sprintf("move absolute %d in k", at))
			pos = at
		}
		if !slices.Equal(got, rows) {
			t.Fatalf("at %d: %d rows, not %d", pos, len(got), len(rows))
		}
	}
	if by := n.pool.Spilled() - before - 2*sort; by < kept {
		t.Errorf("a SCROLL cursor spilled %d bytes more than its sort", by)
	}
	before = n.pool.Spilled()
	c.must("rollback")
	c.must("begin; declare f no scroll cursor for select id, s from big order by id")
	var got []string
	for {
		some := c.must("fetch 50000 from f")
		if len(some) == 0 {
			break
		}
		got = append(got, some...)
	}
	if by := n.pool.Spilled() - before - sort; by >= kept {
		t.Errorf("a NO SCROLL cursor spilled %d bytes more than its sort: it keeps rows that it has returned", by)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows forward", len(got))
	}
	if _, err := c.do("fetch backward 1 from f"); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Error(err)
	}
	c.must("rollback")
	if n.left() != 0 || n.pool.Peak() > n.pool.Limit() {
		t.Errorf("%d bytes are left, %d was the peak", n.left(), n.pool.Peak())
	}
}

// TestMemoryOption: the pool has a quarter to six tenths of the memory limit, which also covers the
// program and garbage.
func TestMemoryOption(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	for _, memory := range []int64{64 << 20, 512 << 20, 16 << 30} {
		n := &Node{pool: mem.NewPool("n", 0)}
		n.limit(coord.Limits{Memory: memory})
		if l := n.pool.Limit(); l < memory/4 || l > memory*6/10 {
			t.Errorf("a pool of %d in %d", l, memory)
		}
		if l := debug.SetMemoryLimit(-1); l > memory || l == math.MaxInt64 {
			t.Errorf("the runtime may take %d of %d", l, memory)
		}
	}
}

// left returns the bytes that a node has charged besides its caches. It waits until background work
// such as compaction has released its memory.
func (n *Node) left() (left int64) {
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if left = n.pool.Used() - n.pool.Idle() - n.store.IndexBytes(); left == 0 || time.Now().After(end) {
			return left
		}
	}
}
