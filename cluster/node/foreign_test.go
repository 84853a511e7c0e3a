package node

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// kinship is the reference implementation of foreign keys: a parent and a child table as maps.
type kinship struct {
	onDelete, onUpdate string
	parents            map[int]bool
	children           map[int]int // id to parent, 0 for none
}

// act applies a referential action to the children of changed or deleted keys: to[key] is the key's
// new value, 0 if it was deleted. It returns false if a child then has no parent.
func (f *kinship) act(action string, to map[int]int) bool {
	for id, p := range f.children {
		now, gone := to[p]
		if p == 0 || !gone {
			continue
		}
		switch action {
		case "cascade":
			if now == 0 {
				delete(f.children, id)
			} else {
				f.children[id] = now
			}
		case "set null":
			f.children[id] = 0
		case "set default":
			f.children[id] = 1
		}
	}
	for _, p := range f.children {
		if p != 0 && !f.parents[p] {
			return false
		}
	}
	return true
}

// TestForeignKeysAtRandom compares random statements with the reference, for each referential action.
func TestForeignKeysAtRandom(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	for seed, actions := range []string{"no action", "restrict", "cascade", "set null", "set default"} {
		randomFamily(t, c, seed, 120, actions)
	}
}

// TestForeignKeysOverNodes is the same on two nodes, with plans that run on both.
func TestForeignKeysOverNodes(t *testing.T) {
	c := connect(t, start(t, 2)[1], spread)
	randomFamily(t, c, 1, 12, "cascade")
	randomFamily(t, c, 2, 12, "set default")
}

func randomFamily(t *testing.T, c *client, seed, steps int, actions string) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	f := &kinship{onDelete: actions, onUpdate: actions, parents: map[int]bool{}, children: map[int]int{}}
	c.must(fmt.Sprintf("drop table if exists c, p; create table p (id int primary key, v int); "+
		"create table c (id int primary key, pid smallint default 1 references p on delete %s on update %s)", actions, actions))
	violations := 0
	for step := range steps {
		was := &kinship{parents: map[int]bool{}, children: map[int]int{}}
		for p := range f.parents {
			was.parents[p] = true
		}
		for i, p := range f.children {
			was.children[i] = p
		}
		var sql string
		ok := true
		some := func() []int {
			var out []int
			for range 1 + r.IntN(3) {
				if p := 1 + r.IntN(12); !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
			return out
		}
		list := func(l []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(l), " ", ", "), "[]") }
		switch r.IntN(6) {
		case 0, 1:
			ps := some()
			sql = fmt.Sprintf("insert into p select i, 0 from unnest(array[%s]) i on conflict do nothing", list(ps))
			for _, p := range ps {
				f.parents[p] = true
			}
		case 2, 3:
			id, p := 1000+step, r.IntN(13)
			sql = fmt.Sprintf("insert into c values (%d, nullif(%d, 0))", id, p)
			f.children[id] = p
			ok = p == 0 || f.parents[p]
		case 4:
			ps := some()
			sql = fmt.Sprintf("delete from p where id in (%s)", list(ps))
			to := map[int]int{}
			for _, p := range ps {
				if f.parents[p] {
					delete(f.parents, p)
					to[p] = 0
				}
			}
			ok = f.act(f.onDelete, to)
		default:
			ps := some()
			by := 12 + r.IntN(3)*20
			sql = fmt.Sprintf("update p set id = case when id in (%s) then id + %d else id end, v = v + 1", list(ps), by)
			to := map[int]int{}
			for _, p := range ps {
				if f.parents[p] {
					delete(f.parents, p)
					to[p] = p + by
				}
			}
			for _, p := range to {
				ok = ok && !f.parents[p]
			}
			for _, p := range to {
				f.parents[p] = true
			}
			ok = ok && f.act(f.onUpdate, to)
		}
		_, err := c.do(sql)
		if (err == nil) != ok {
			t.Fatalf("%s, step %d: %s: %v, want success %v", actions, step, sql, err, ok)
		}
		if err != nil {
			violations++
			if code := pgerr.CodeOf(err); code != pgerr.ForeignKeyViolation && code != pgerr.UniqueViolation {
				t.Fatal(sql, err)
			}
			f.parents, f.children = was.parents, was.children
		}
		var want []string
		for id, p := range f.children {
			want = append(want, strings.ReplaceAll(fmt.Sprintf("%d|%d", id, p), "|0", "|NULL"))
		}
		slices.Sort(want)
		got := c.must("select id, pid from c order by id::text")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%s, step %d: after %s\n got %v\nwant %v", actions, step, sql, got, want)
		}
	}
	if violations == 0 {
		t.Errorf("%s: no statement was refused", actions)
	}
}

// TestForeignKeysConcurrent: sessions add children and delete parents concurrently. Whichever of them
// commit, every child has a parent.
func TestForeignKeysConcurrent(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must("create table p (id int primary key); create table c (pid int references p); insert into p select generate_series(1, 20)")
	var wg sync.WaitGroup
	lost := make([]int, 4)
	for w := range lost {
		s := connect(t, n)
		r := rand.New(rand.NewPCG(uint64(w), 3))
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 25 {
				k := 1 + r.IntN(20)
				work := []string{"begin"}
				switch r.IntN(4) {
				case 0:
					work = append(work, fmt.Sprintf("delete from c where pid = %d", k), fmt.Sprintf("delete from p where id = %d", k))
				case 1:
					work = append(work, fmt.Sprintf("insert into p values (%d) on conflict do nothing", k))
				default:
					work = append(work, fmt.Sprintf("insert into c values (%d)", k))
				}
				for _, sql := range append(work, "commit") {
					if _, err := s.do(sql); err != nil {
						switch pgerr.CodeOf(err) {
						case pgerr.SerializationFailure:
							lost[w]++
						case pgerr.ForeignKeyViolation:
						default:
							t.Error(sql, err)
						}
						_, _ = s.do("rollback")
						break
					}
				}
			}
		}()
	}
	wg.Wait()
	if got := c.must("select count(*) from c where pid is not null and not exists (select 1 from p where id = pid)"); got[0] != "0" {
		t.Errorf("%s children without a parent", got[0])
	}
	t.Log("transactions that lost a race, by session:", lost)
}

// copyIn runs COPY … FROM STDIN.
func (c *client) copyIn(sql, data string) error {
	p, err := c.query(sql)
	if err == nil {
		err = p.Start(context.Background())
	}
	if err == nil {
		cp := p.Copy()
		if err = cp.Write(context.Background(), []byte(data)); err == nil {
			err = cp.Finish(context.Background())
		}
	}
	if serr := c.s.Sync(context.Background(), err == nil); err == nil {
		err = serr
	}
	return err
}

func TestCopy(t *testing.T) {
	c := connect(t, start(t, 1)[0])
	c.must("create table p (id int primary key); insert into p values (1), (2); " +
		"create table c (id int primary key, pid int references p, n int default 7 check (n < 10), twice int generated always as (n * 2) stored)")
	if err := c.copyIn("copy c (id, pid) from stdin", "1\t1\n2\t\\N\n3\t2\n"); err != nil {
		t.Fatal(err)
	}
	for data, code := range map[string]pgerr.Code{
		"4\t9\n":                 pgerr.ForeignKeyViolation,
		"4\t1\n4\t2\n":           pgerr.UniqueViolation,
		"1\t1\n":                 pgerr.UniqueViolation,
		"x\t1\n":                 pgerr.InvalidTextRepresentation,
		"4\n":                    pgerr.BadCopyFileFormat,
		"\\N\t1\n":               pgerr.NotNullViolation,
		"4\t1\n5\t2\n6\t1\n1\t1": pgerr.UniqueViolation,
	} {
		if err := c.copyIn("copy c (id, pid) from stdin", data); pgerr.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", data, err, code)
		}
	}
	if err := c.copyIn("copy c (id, n) from stdin csv", "4,10\n"); pgerr.CodeOf(err) != pgerr.CheckViolation {
		t.Error(err)
	}
	if got, want := c.must("select * from c order by 1"), []string{"1|1|7|14", "2|NULL|7|14", "3|2|7|14"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p, err := c.query("copy (select * from c order by id) to stdout (format csv, header)")
	if err == nil {
		err = p.Start(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for {
		b, _, err := p.Copy().Read(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	if want := "id,pid,n,twice\n1,1,7,14\n2,,7,14\n3,2,7,14\n"; out.String() != want {
		t.Errorf("copied out %q", out.String())
	}
}
