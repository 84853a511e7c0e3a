package node

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestRepartition: tables of no, few and many rows that are repartitioned into more or fewer partitions
// have the same rows as before, divided evenly.
func TestRepartition(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprintf("%d nodes", n), func(t *testing.T) {
			nodes := start(t, n)
			c, other := connect(t, nodes[0], spread), connect(t, nodes[n-1], spread)
			sum := "select count(*), sum(id), min(s), count(distinct s), sum(coalesce(a[1], 0)) from r"
			for _, rows := range []int{0, 7, 40, 3000, 90_000} {
				c.must(fmt.Sprintf(`drop table if exists r; create table r (id int primary key, s text, a int[]) with (partitions = 8);
					insert into r select g, 'x' || mod(g, 1000), case when mod(g, 3) = 0 then array[g, null] end from generate_series(1, %d) g`, rows))
				c.must("delete from r where id % 5 = 0")
				want := c.must(sum)
				live := int64(rows - rows/5)
				for _, parts := range []int64{12, 3, 3, 1, 20} {
					c.must(fmt.Sprintf("alter table r repartition into %d", parts))
					for _, x := range []*client{c, other} {
						if got := x.must(sum); !slices.Equal(got, want) {
							t.Fatalf("%d rows into %d partitions: %v, want %v", rows, parts, got, want)
						}
					}
					var loads []int64
					for _, l := range other.must("select rows from cluster.partitions where \"table\" = 'r' order by partition") {
						v, err := strconv.ParseInt(l, 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						loads = append(loads, v)
					}
					if int64(len(loads)) != parts || slices.Max(loads)-slices.Min(loads) > max(1, live/parts) || live >= parts && slices.Min(loads) == 0 {
						t.Fatalf("%d rows into %d partitions lie as %v", live, parts, loads)
					}
				}
				other.must("insert into r select g from generate_series(1000001, 1000040) g")
				if _, err := c.do("insert into r values (1000007)"); pgerr.CodeOf(err) != pgerr.UniqueViolation {
					t.Fatalf("a second row of a key: %v", err)
				}
			}
		})
	}
}

// TestRepartitionConflicts: of a repartitioning and a concurrent write, the one that commits later
// fails with 40001. Otherwise the new partitions would lack the write, or the write would be applied
// to partitions and segments that are gone.
func TestRepartitionConflicts(t *testing.T) {
	nodes := start(t, 1)
	a, b := connect(t, nodes[0]), connect(t, nodes[0])
	for _, write := range []string{"insert into r values (100 + %d)", "delete from r where id = %d", "update r set id = 200 where id = %d"} {
		a.must("drop table if exists r; create table r (id int) with (partitions = 2); insert into r select generate_series(1, 30)")
		a.must("begin; alter table r repartition into 9")
		b.must(fmt.Sprintf(write, 3))
		want := b.must("select id from r order by id")
		if _, err := a.do("commit"); pgerr.CodeOf(err) != pgerr.SerializationFailure {
			t.Fatalf("repartition after a concurrent %s: %v", write, err)
		}
		b.must("begin; " + fmt.Sprintf(write, 4))
		a.must("alter table r repartition into 5")
		if _, err := b.do("commit"); pgerr.CodeOf(err) != pgerr.SerializationFailure {
			t.Fatalf("%s over rows that were distributed anew: %v", write, err)
		}
		if got := a.must("select id from r order by id"); !slices.Equal(got, want) {
			t.Fatalf("rows %v, want %v", got, want)
		}
		a.must("begin; alter table r repartition into 3; rollback")
		if got := a.must("select count(*) from cluster.partitions where \"table\" = 'r'"); got[0] != "5" {
			t.Fatalf("%s partitions after a rollback", got[0])
		}
	}
}
