package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type prepared struct {
	c *client
	p *session.Prepared
}

func (c *client) prepare(sql string) prepared {
	c.t.Helper()
	pieces, err := c.s.Script(context.Background(), sql)
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := c.s.Prepare(context.Background(), pieces[0], nil)
	if err == nil {
		err = c.s.Sync(context.Background(), true)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return prepared{c, p}
}

// run executes the statement and returns its rows as text, or its tag if it has none.
func (p prepared) run(args ...types.Datum) (string, error) {
	ctx := context.Background()
	var out []string
	portal, err := p.p.Bind(ctx, args)
	if err == nil {
		if out, err = read(portal); err == nil && portal.Columns() == nil {
			out = append(out, portal.Tag())
		}
	}
	if e := p.c.s.Sync(ctx, err == nil); err == nil {
		err = e
	}
	return strings.Join(out, "; "), err
}

func (p prepared) gives(want string, args ...types.Datum) {
	p.c.t.Helper()
	// The second execution uses the plan that the first one cached.
	for range 2 {
		if got, err := p.run(args...); err != nil || got != want {
			p.c.t.Errorf("%q, %v; not %q", got, err, want)
		}
	}
}

// TestPlansFollow executes prepared statements while rows, definitions, settings and roles change: a
// cached plan is used only with the definitions, settings and role that it was made for.
func TestPlansFollow(t *testing.T) {
	nodes := start(t, 1)
	c, other := connect(t, nodes[0]), connect(t, nodes[0])
	c.must("create table t (k int primary key, v text); insert into t values (1, 'one'), (2, 'two')")
	get := c.prepare("select v from t where k = $1")
	put := c.prepare("update t set v = v || '!' where k = $1")
	get.gives("one", int64(1))
	get.gives("two", int64(2))
	get.gives("", int64(3))
	get.gives("", nil)
	if got, err := put.run(int64(1)); err != nil || got != "UPDATE 1" {
		t.Error(got, err)
	}
	get.gives("one!", int64(1))

	// Another session inserts and deletes rows.
	other.must("insert into t values (3, 'three'); delete from t where k = 2")
	get.gives("three", int64(3))
	get.gives("", int64(2))
	other.must("truncate t; insert into t select i, 'n' || i from generate_series(1, 3000) i")
	get.gives("n2999", int64(2999))
	other.must("analyze t")
	get.gives("n5", int64(5))

	// Definitions change.
	other.must("alter table t add column w int default 7")
	wide := c.prepare("select * from t where k = $1")
	wide.gives("5|n5|7", int64(5))
	adds := c.prepare("insert into t values ($1, 'added', 1) returning *")
	typed := c.prepare("select w from t where k = $1")
	other.must("alter table t alter w type bigint, add x int")
	for _, p := range []prepared{wide, adds, typed} {
		// The client was told other columns: it cannot read these.
		if got, err := p.run(int64(5)); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
			t.Error(got, err)
		}
	}
	get.gives("n5", int64(5))
	other.must("alter table t drop x, alter w type int")
	wide.gives("5|n5|7", int64(5))
	typed.gives("7", int64(5))
	other.must("alter table t drop constraint t_pkey; insert into t values (5, 'twice', 0)")
	get.gives("n5; twice", int64(5))
	other.must("delete from t where v = 'twice'; alter table t add primary key (k)")
	get.gives("n5", int64(5))
	other.must("alter table t rename column v to was; alter table t rename column w to v")
	if got, err := get.run(int64(5)); err == nil && got != "7" {
		t.Errorf("%q of a column that has another name", got)
	}
	again := c.prepare("select v from t where k = $1")
	again.gives("7", int64(5))
	other.must("drop table t")
	if _, err := again.run(int64(5)); pgerr.CodeOf(err) != pgerr.UndefinedTable {
		t.Error(err)
	}
	other.must("create table t (k int primary key, v bigint)")
	if got, err := again.run(int64(5)); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Error(got, err)
	}
	other.must("drop table t; create table t (k int primary key, v int); insert into t values (5, 50)")
	again.gives("50", int64(5))

	// Labels of enumerated types.
	other.must("create type e as enum ('a'); create table es (v e)")
	label := c.prepare("insert into es values ($1)")
	labels := c.prepare("select $1::e[]")
	if _, err := label.run("b"); pgerr.CodeOf(err) != pgerr.InvalidTextRepresentation {
		t.Error(err, "a label that the type does not have")
	}
	strange := types.Array{Elem: types.Text, Elems: []types.Datum{"a", "b"}}
	if _, err := labels.run(strange); pgerr.CodeOf(err) != pgerr.InvalidTextRepresentation {
		t.Error(err, "a label that the type does not have")
	}
	other.must("alter type e add value 'b'")
	label.gives("INSERT 0 1", "b")
	labels.gives("{a,b}", strange)

	// Settings, temporary tables and transactions.
	c.must("create schema s; create table s.t (k int primary key, v int); insert into s.t values (5, 55)")
	c.must("set search_path = s, public")
	again.gives("55", int64(5))
	c.must("create temp table t (k int primary key, v int); insert into t values (5, 555)")
	again.gives("555", int64(5))
	c.must("drop table pg_temp.t; set search_path = public")
	again.gives("50", int64(5))
	c.must("begin; alter table t rename to u; create table t (k int primary key, v int); insert into t values (5, 1)")
	again.gives("1", int64(5))
	c.must("rollback")
	again.gives("50", int64(5))
	zone := c.prepare("select timestamptz '2026-01-01 00:00' = timestamptz '2026-01-01 00:00+00', $1::int")
	zone.gives("t|1", int64(1))
	c.must("set timezone = 'Asia/Tokyo'")
	zone.gives("f|1", int64(1))
	c.must("reset timezone")

	// Roles and privileges.
	c.must("create role r login")
	mine, err := nodes[0].Engine().Connect(context.Background(), startup("r"))
	if err != nil {
		t.Fatal(err)
	}
	r := &client{t, mine}
	defer mine.Close()
	pieces, _ := mine.Script(context.Background(), "select v from t where k = $1")
	if st, err := mine.Prepare(context.Background(), pieces[0], nil); err == nil {
		if _, err = (prepared{r, st}).run(int64(5)); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
			t.Error(err)
		}
	}
	_ = mine.Sync(context.Background(), false)
	c.must("grant select on t to r")
	theirs := r.prepare("select v from t where k = $1")
	theirs.gives("50", int64(5))
	c.must("revoke select on t from r")
	if _, err := theirs.run(int64(5)); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Error(err)
	}
	c.must("set role r")
	if _, err := again.run(int64(5)); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Error(err)
	}
	c.must("reset role")
	again.gives("50", int64(5))
}

// TestMomentIsNotKept: 'now' in a literal is evaluated at each execution, not once for the cached plan.
func TestMomentIsNotKept(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	now := c.prepare("select 'now'::timestamptz, now(), clock_timestamp(), timestamptz 'now'")
	first, err := now.run()
	if err != nil {
		t.Fatal(err)
	}
	second, err := now.run()
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(first, "|"), strings.Split(second, "|")
	for i := range a {
		if a[i] == b[i] {
			t.Errorf("column %d is %s both times", i+1, a[i])
		}
	}
}

// TestSmallWriters: sessions on two nodes insert, update and read single rows by key while the table may
// be compacted; at the end it is compared with a map.
func TestSmallWriters(t *testing.T) {
	nodes := start(t, 2)
	setup := connect(t, nodes[0])
	setup.must("create table t (k bigint primary key, v int, u text unique)")
	setup.must("insert into t select i, 0, 'u' || i from generate_series(1, 500) i")
	const sessions, each = 4, 60
	var wg sync.WaitGroup
	var mu sync.Mutex
	want := map[int64]int64{}
	for i := range int64(500) {
		want[i+1] = 0
	}
	for n := range sessions {
		c := connect(t, nodes[n%2])
		ins := c.prepare("insert into t values ($1, 0, 'u' || $1::bigint)")
		upd := c.prepare("update t set v = v + 1 where k = $1")
		del := c.prepare("delete from t where k = $1")
		get := c.prepare("select v from t where k = $1")
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		wg.Go(func() {
			for i := range each {
				k := rng.Int64N(700) + 1
				switch rng.IntN(4) {
				case 0:
					got, err := ins.run(k)
					mu.Lock()
					if err == nil {
						want[k] = 0
					} else if pgerr.CodeOf(err) != pgerr.UniqueViolation {
						t.Error(got, err)
					}
					mu.Unlock()
				case 1, 2: // rows that are there from the start: each update must find its row
					k = k%500 + 1
					got, err := upd.run(k)
					if err != nil || got != "UPDATE 1" {
						t.Error(got, err)
					}
					mu.Lock()
					want[k]++
					mu.Unlock()
				case 3:
					if _, err := get.run(k); err != nil {
						t.Error(err)
					}
					if n == 0 { // this session only reads; the others also delete a row of their own
						break
					}
					own := int64(1000*n + i)
					if got, err := ins.run(own); err != nil {
						t.Error(got, err)
					}
					if got, err := del.run(own); err != nil || got != "DELETE 1" {
						t.Error(got, err)
					}
				}
			}
		})
	}
	wg.Wait()
	var all []string
	for k, v := range want {
		all = append(all, fmt.Sprintf("%d|%d|u%d", k, v, k))
	}
	for _, n := range nodes {
		c := connect(t, n)
		got := c.must("select k, v, u from t")
		slices.Sort(got)
		slices.Sort(all)
		if !slices.Equal(got, all) {
			t.Errorf("%d rows, not %d", len(got), len(all))
		}
		get := c.prepare("select v from t where k = $1")
		for k, v := range want {
			if got, err := get.run(k); err != nil || got != fmt.Sprint(v) {
				t.Errorf("%d is %s, %v, not %d", k, got, err, v)
			}
		}
	}
}

// TestSmallForeign writes single rows with foreign keys that refer to existing rows, missing rows, and
// a row that is deleted concurrently.
func TestSmallForeign(t *testing.T) {
	nodes := start(t, 1)
	c := connect(t, nodes[0])
	c.must("create table parent (a int, b varchar(10), primary key (a, b)); create table solo (k bigint primary key, n numeric unique)")
	c.must("insert into parent select i, 'b' || i from generate_series(1, 3000) i; insert into solo select i, i from generate_series(1, 3000) i")
	c.must("create table child (id int primary key, a int, b varchar(10), k int references solo, n numeric references solo (n), foreign key (a, b) references parent)")
	ins := c.prepare("insert into child values ($1, $2, $3, $4, $5::int)")
	refused := func(args ...types.Datum) {
		t.Helper()
		if got, err := ins.run(args...); pgerr.CodeOf(err) != pgerr.ForeignKeyViolation {
			t.Errorf("%v: %s, %v", args, got, err)
		}
	}
	for i := range int64(20) {
		ins.gives1(t, "INSERT 0 1", i, i*100+1, fmt.Sprint("b", i*100+1), i+1, i+2)
	}
	refused(int64(100), int64(5), "b6", nil, nil)
	refused(int64(100), int64(5), "b5", int64(3001), nil)
	refused(int64(100), nil, nil, nil, int64(-1))
	ins.gives1(t, "INSERT 0 1", int64(101), int64(5), nil, nil, nil)
	c.must("delete from parent where a = 7; insert into parent values (8, 'other')")
	refused(int64(102), int64(7), "b7", nil, nil)
	ins.gives1(t, "INSERT 0 1", int64(102), int64(8), "other", nil, nil)
	if _, err := c.do("delete from parent where a = 101"); pgerr.CodeOf(err) != pgerr.ForeignKeyViolation {
		t.Error(err)
	}
	upd := c.prepare("update child set a = $2, b = $3 where id = $1")
	upd.gives1(t, "UPDATE 1", int64(3), int64(9), "b9")
	if _, err := upd.run(int64(3), int64(9), "b10"); pgerr.CodeOf(err) != pgerr.ForeignKeyViolation {
		t.Error(err)
	}
	if got := c.must("select a, b from child where id = 3"); got[0] != "9|b9" {
		t.Error(got)
	}
	// A parent is deleted after a child's foreign key was checked and before the child commits.
	other := connect(t, nodes[0])
	c.must("begin")
	ins.gives1(t, "INSERT 0 1", int64(200), int64(2000), "b2000", nil, nil)
	other.must("delete from parent where a = 2000")
	if _, err := c.do("commit"); pgerr.CodeOf(err) != pgerr.SerializationFailure {
		t.Error(err)
	}
}

// gives1 is gives for a statement without rows, which is run once and may be in a transaction block.
func (p prepared) gives1(t *testing.T, want string, args ...types.Datum) {
	t.Helper()
	ctx := context.Background()
	portal, err := p.p.Bind(ctx, args)
	if err == nil {
		_, err = read(portal)
	}
	if err == nil && p.c.s.TxStatus() == 'I' {
		err = p.c.s.Sync(ctx, true)
	}
	if err != nil || portal.Tag() != want {
		t.Errorf("%v: %v, not %s", args, err, want)
	}
}
