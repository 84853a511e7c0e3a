package node

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// full occupies node n's admission, without charging memory, so that statements queue until the
// returned function is called.
func full(n *Node) func() {
	pool := n.pool.Child("full", 0)
	t := pool.Ticket(1, 2)
	t.Force()
	return func() {
		t.Close()
		pool.Close()
	}
}

// queued waits until want statements are queued at a node.
func queued(n *Node, want int) {
	for n.pool.Admissions().Queued != want {
		runtime.Gosched()
	}
}

const heavyRows = 30_000

// heavy are statements that each use much of a pool of 32 MiB.
var heavy = []struct{ sql, want string }{
	{"select count(*), max(r) from (select row_number() over (partition by id % 10 order by s) as r from big) x", fmt.Sprint(heavyRows, "|", heavyRows/10)},
	{"select count(*), sum(n) from (select left(s, 60), count(*) as n from big group by 1) x", fmt.Sprint(heavyRows, "|", heavyRows)},
	{"select count(*), sum(a.id - b.id) from big a join big b on a.s = b.s", fmt.Sprint(heavyRows, "|0")},
	{"select count(*) from (select s, id from big order by s desc, id offset 7) x", fmt.Sprint(heavyRows - 7)},
}

// TestQueueOfMany: many heavy statements at once, with memory for one or two, all succeed, on one node
// and on three.
func TestQueueOfMany(t *testing.T) {
	for _, nodes := range oneAndThree() {
		ns := []*Node{}
		if nodes == 1 {
			ns = append(ns, startSmall(t))
		} else {
			ns = start(t, 3, func(o *Options) { o.Memory, o.Threads = 128<<20, 2 })
		}
		connect(t, ns[0]).must(fmt.Sprintf("create table big as select i as id, md5(i::text) || md5((i * 7)::text) as s from generate_series(1, %d) i", heavyRows))
		var wg sync.WaitGroup
		for i := range 40 {
			c := connect(t, ns[i%nodes], spread)
			wg.Go(func() {
				h := heavy[i%len(heavy)]
				got, err := c.do(h.sql)
				if err != nil || len(got) != 1 || got[0] != h.want {
					t.Errorf("%d nodes: %s: %v, %v", nodes, h.sql, got, err)
				}
			})
		}
		wg.Wait()
		for _, n := range ns {
			a := n.pool.Admissions()
			if a.Total < int64(40/nodes) || a.Queued != 0 {
				t.Errorf("%d nodes: %+v", nodes, a)
			}
		}
	}
}

// TestQueue: the order of the queue as shown by cluster.sessions, which statements are not queued, and
// how a wait ends.
func TestQueue(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	c.must(fmt.Sprintf("create table big as select i as id, md5(i::text) as s from generate_series(1, %d) i", heavyRows))
	c.must("create table small (id int primary key, s text)")
	c.must("create role other login; grant select on big to other")
	free := full(n)

	const ask = "select count(*) from (select distinct left(s, 60) from big) x"
	errs := make([]chan error, 4)
	var sessions []*client
	for i := range errs {
		s := connect(t, n, "application_name = 'queued'")
		if i == 3 {
			s.s.Close()
			o, err := n.Engine().Connect(t.Context(), startup("other"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = o.Close() })
			s = &client{t, o}
		}
		if i == 2 {
			s.must("begin; declare gone cursor for select 1")
			s.must("rollback; begin")
		}
		sessions, errs[i] = append(sessions, s), make(chan error, 1)
		go func() {
			_, err := s.do(map[bool]string{true: "declare late cursor for " + ask, false: ask}[i == 2])
			errs[i] <- err
		}()
		queued(n, i+1)
	}
	// Roles take turns: the second role's only statement is next after one of the first role's.
	got := c.must("select queue_place, queue_node, \"user\" from cluster.sessions where queue_place is not null order by 1")
	if want := []string{"1|n1|tributary", "2|n1|other", "3|n1|tributary", "4|n1|tributary"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	if got := c.must("select count(*) from pg_stat_activity where wait_event_type = 'Resource' and wait_event = 'admission' and state = 'active'"); got[0] != "4" {
		t.Error(got)
	}
	if got := c.must("select statements_admitted, statements_queued from cluster.nodes"); got[0] != "1|4" {
		t.Error(got)
	}

	// Statements that keep few rows in memory are not queued.
	for _, sql := range []string{"select 1", "insert into small select i, 'x' from generate_series(1, 100) i", "update small set s = 'y' where id < 50",
		"select * from small where id = 3", "select s, count(*) from small a join small b using (s) group by s order by 2", "select * from big where id = 77",
		"select relname, count(*) from pg_class c join pg_attribute a on a.attrelid = c.oid group by 1 order by 2", "show work_mem", "select id, s from big limit 3",
		"select * from big where id = 77 order by s"} {
		c.must(sql)
	}
	queued(n, 4)

	// statement_timeout, cancel and terminate end the wait.
	limited := connect(t, n, "statement_timeout = 50")
	if _, err := limited.do(ask); !pgerr.Is(err, pgerr.QueryCanceled) {
		t.Errorf("a time limit: %v", err)
	}
	c.must(fmt.Sprintf("select pg_cancel_backend(%d)", sessions[2].s.PID()))
	if err := <-errs[2]; !pgerr.Is(err, pgerr.QueryCanceled) {
		t.Errorf("a cancel of DECLARE: %v", err)
	}
	c.must(fmt.Sprintf("select pg_terminate_backend(%d)", sessions[0].s.PID()))
	if err := <-errs[0]; !pgerr.Is(err, pgerr.AdminShutdown) {
		t.Errorf("a terminate: %v", err)
	}
	queued(n, 2)
	free()
	for _, i := range []int{1, 3} {
		if err := <-errs[i]; err != nil {
			t.Error(err)
		}
	}
	if a := n.pool.Admissions(); a.Holding+a.Queued != 0 || n.left() != 0 {
		t.Errorf("%+v, %d bytes", a, n.pool.Used())
	}
}

// TestQueueAndClients: while a portal or cursor waits for its client, other statements are admitted. It
// continues without queueing, and so does another statement of its session.
func TestQueueAndClients(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	c.must(fmt.Sprintf("create table big as select i as id, md5(i::text) as s from generate_series(1, %d) i", heavyRows))
	const ask = "select s, id from big order by s"
	for _, way := range []string{"cursor", "portal", "slow portal"} {
		a := connect(t, n)
		var portal *session.Portal
		next := func() error { // returns some rows; then the portal waits for its client
			if way == "cursor" {
				_, err := a.do("fetch 10 from slow")
				return err
			}
			_, err := portal.Next(t.Context())
			if way == "portal" {
				portal.Suspend()
			}
			for way == "slow portal" && err == nil && n.pool.Admissions().Holding != 0 {
				runtime.Gosched() // after a second without a request the portal counts as waiting for its client
			}
			return err
		}
		a.must("begin")
		if way == "cursor" {
			a.must("declare slow cursor for " + ask)
		} else {
			var err error
			if portal, err = a.query(ask); err != nil {
				t.Fatal(err)
			}
		}
		if err := next(); err != nil {
			t.Fatal(err)
		}
		if h := n.pool.Admissions().Holding; h != 0 {
			t.Errorf("%s: %d are admitted while the client thinks", way, h)
		}
		c.must("select count(*) from (select distinct s from big) x")
		if way == "slow portal" {
			_ = portal.Close()
			a.must("rollback")
			continue
		}
		free := full(n)
		if err := next(); err != nil {
			t.Fatal(err)
		}
		if got, err := a.do("select count(*) from (select distinct id from big) x"); err != nil || got[0] != fmt.Sprint(heavyRows) {
			t.Error(got, err)
		}
		free()
		if portal != nil {
			_ = portal.Close()
		}
		a.must("rollback")
		if ad := n.pool.Admissions(); ad.Holding+ad.Queued != 0 || n.left() != 0 {
			t.Errorf("%s: %+v, %d bytes", way, ad, n.pool.Used())
		}
	}
}

// TestShortWritesPassTheQueue: what writes a few rows into a large table looks for their keys without
// queueing behind heavy statements, also where memory is short.
func TestShortWritesPassTheQueue(t *testing.T) {
	n := startSmall(t)
	c := connect(t, n)
	c.must(fmt.Sprintf("create table big (id int primary key, s text unique); insert into big select i * 2, md5(i::text) from generate_series(1, %d) i", 2*heavyRows))
	c.must("create table part (of int references big); insert into part values (2), (4)")
	c.must("set statement_timeout = '2min'")
	release := full(n)
	defer release()
	for _, sql := range []string{
		"insert into big values (7, 'a')",
		"insert into big values (9, 'b'), (11, 'c')",
		"insert into big values (13, 'd') on conflict do nothing",
		"insert into big values (13, 'd') on conflict (id) do update set s = 'e'",
		"insert into big select 15, 'f'",
		"insert into part values (6)",
		"update big set s = 'g' where id = 8",
		"update big set id = 17 where id = 16",
		"delete from big where id = 18",
		"with x as (delete from big where id = 20 returning s) insert into big select 21, s || 'h' from x",
		"insert into big values (13, 'i'), (23, 'j') on conflict (id) do update set s = excluded.s",
		"merge into big using (values (25, 'k')) v (id, s) on big.id = v.id when matched then delete when not matched then insert values (v.id, v.s)",
	} {
		if _, err := c.do(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	c.must("set statement_timeout = '100ms'")
	if _, err := c.do(heavy[1].sql); !pgerr.Is(err, pgerr.QueryCanceled) {
		t.Error("nothing queues at all:", err)
	}
}
