package node

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// conflictTable is the reference implementation of ON CONFLICT: the values of v and s by key.
type conflictTable map[int][2]any

type proposal struct {
	id int
	v  any // int or nil
	s  string
}

// upsert executes a statement on the reference; code is the SQLSTATE of its error. Rows that are refused
// are so in their order, or before any that occurs twice.
func (t conflictTable) upsert(rows []proposal, update, where, ordered bool) (pgerr.Code, []string) {
	next := conflictTable{}
	for id, r := range t {
		next[id] = r
	}
	hit := map[int]bool{}
	var returned []string
	refused := func(p proposal) pgerr.Code {
		switch {
		case p.v == nil:
			return pgerr.NotNullViolation
		case p.v.(int) > 900:
			return pgerr.CheckViolation
		}
		return ""
	}
	for _, p := range rows {
		if code := refused(p); code != "" && !ordered {
			return code, nil
		}
	}
	for _, p := range rows {
		if code := refused(p); code != "" {
			return code, nil
		}
		old, there := t[p.id]
		switch {
		case !there && hit[p.id] && update, there && update && (!where || old[0].(int)%2 == p.v.(int)%2) && hit[p.id]:
			return pgerr.CardinalityViolation, nil
		case !there && hit[p.id], there && (!update || where && old[0].(int)%2 != p.v.(int)%2):
			continue
		case there:
			next[p.id] = [2]any{old[0].(int)/2 + p.v.(int)/4, old[1].(string) + p.s}
		default:
			next[p.id] = [2]any{p.v, p.s}
		}
		hit[p.id] = true
		returned = append(returned, fmt.Sprintf("%d|%v|%v", p.id, next[p.id][0], next[p.id][1]))
	}
	clear(t)
	for id, r := range next {
		t[id] = r
	}
	slices.Sort(returned)
	return "", returned
}

func (t conflictTable) rows() []string {
	var out []string
	for id, r := range t {
		out = append(out, fmt.Sprintf("%d|%v|%v", id, r[0], r[1]))
	}
	slices.Sort(out)
	return out
}

// TestOnConflict inserts random rows, some with equal keys, some that violate other constraints. The
// arbiter is a constraint on a column or an index on an expression or with a predicate. Statements
// are executed by the gateway alone, or as joins on the nodes that store the rows.
func TestOnConflict(t *testing.T) {
	for name, nodes := range map[string]int{"one node": 1, "three nodes": 3} {
		t.Run(name, func(t *testing.T) {
			testOnConflict(t, connect(t, start(t, nodes)[nodes-1], spread), true)
		})
	}
	t.Run("gateway", func(t *testing.T) { testOnConflict(t, connect(t, start(t, 1)[0]), false) })
}

func testOnConflict(t *testing.T, c *client, spread bool) {
	rng := rand.New(rand.NewSource(28))
	seen, looked := map[pgerr.Code]int{}, 0
	for _, key := range []struct{ ddl, target string }{
		{"alter table t add primary key (id)", "(id)"},
		{"create unique index on t ((id * 2))", "((id * 2))"},
		{"create unique index on t (id) where id >= 0", "(id) where id >= 0"},
	} {
		c.must("drop table if exists t; create table t (id int, v int not null check (v <= 900), s text); " + key.ddl)
		ref := conflictTable{}
		for range 14 {
			var rows []proposal
			var values []string
			for range 1 + rng.Intn(120) {
				p := proposal{rng.Intn(400), rng.Intn(100), fmt.Sprint("s", rng.Intn(10))}
				// Nodes look at rows in no order: of two that are refused in two ways either may be first.
				refused := spread && slices.ContainsFunc(rows, func(q proposal) bool { return q.v == nil || q.v.(int) > 900 })
				switch at := rng.Intn(700); {
				case at == 0 && !refused:
					p.v = nil
				case at == 1 && !refused:
					p.v = 1000
				}
				if len(rows) > 0 && rng.Intn(200) == 0 {
					p = rows[0]
				} else if slices.ContainsFunc(rows, func(q proposal) bool { return q.id == p.id }) && rng.Intn(60) > 0 {
					continue
				} else if i := slices.IndexFunc(rows, func(q proposal) bool { return q.id == p.id }); i >= 0 {
					p = rows[i]
				}
				rows = append(rows, p)
				v := fmt.Sprint(p.v)
				if p.v == nil {
					v = "null"
				}
				values = append(values, fmt.Sprintf("(%d, %s, '%s')", p.id, v, p.s))
			}
			c.must("drop table if exists p; create table p (id int, v int, s text); insert into p values " + strings.Join(values, ", "))
			update, where := rng.Intn(3) > 0, rng.Intn(2) == 0
			sql := "insert into t select id, v, s from p on conflict " + key.target + " do nothing"
			if update {
				sql = "insert into t select id, v, s from p on conflict " + key.target + " do update set v = t.v / 2 + excluded.v / 4, s = t.s || excluded.s"
				if where {
					sql += " where t.v % 2 = excluded.v % 2"
				}
			}
			// EXPLAIN ANALYZE executes the statement, so it is rolled back.
			plan, _ := c.do("begin; explain analyze " + sql)
			c.must("rollback")
			if text := strings.Join(plan, "\n"); text != "" && update {
				if looked++; strings.Contains(text, "Right Join") != spread {
					t.Fatalf("%s\n%s", sql, text)
				}
			}
			code, want := ref.upsert(rows, update, where && update, !spread)
			got, err := c.do(sql + " returning id, v, s")
			slices.Sort(got)
			if pgerr.CodeOf(err) != code && !(err == nil && code == "") || err == nil && !slices.Equal(got, want) {
				t.Fatalf("%s\nof %v: %v %v, not %v %v", sql, values, got, err, want, code)
			}
			seen[code]++
			all := c.must("select id, v, s from t")
			if slices.Sort(all); !slices.Equal(all, ref.rows()) {
				t.Fatalf("%s\nof %v leaves %v, not %v", sql, values, all, ref.rows())
			}
		}
	}
	if looked == 0 || seen[""] < 10 || seen[pgerr.CardinalityViolation] == 0 || seen[pgerr.NotNullViolation]+seen[pgerr.CheckViolation] == 0 {
		t.Errorf("statements ended with %v, of %d the plan was seen", seen, looked)
	}
}
