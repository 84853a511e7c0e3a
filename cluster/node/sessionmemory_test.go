package node

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestKept: what a session keeps between statements is charged, refused with 53200 where the node has
// no room, and given back when it is not kept any more.
func TestKept(t *testing.T) {
	ctx := context.Background()
	n := startSmall(t)
	long := strings.Repeat("x", 100_000)
	list := "select 1 where 1 in (" + strings.Repeat("1,", 3000) + "1)"
	prepare := func(c *client, sql string) (*parse.Statement, error) {
		texts, err := c.s.Script(ctx, sql)
		if err != nil {
			return nil, err
		}
		return texts[0], nil
	}
	do := func(sql func(i int) string) func(*client, int) error {
		return func(c *client, i int) error { _, err := c.do(sql(i)); return err }
	}
	for _, tc := range []struct {
		name, before string
		keep         func(c *client, i int) error
		free         string
	}{
		{"PREPARE", "", do(func(i int) string { return fmt.Sprintf("prepare p%d as %s", i, list) }), "deallocate all"},
		{"Parse", "", func(c *client, i int) error {
			text, err := prepare(c, list)
			if err != nil {
				return err
			}
			st, err := c.s.Prepare(ctx, text, nil)
			if err != nil {
				return err
			}
			return c.s.StorePrepared(fmt.Sprint(i), st)
		}, "deallocate all"},
		{"PREPARE, discarded", "", do(func(i int) string { return fmt.Sprintf("prepare p%d as %s", i, list) }), "discard all"},
		{"set_config", "", do(func(i int) string { return fmt.Sprintf("select set_config('a.b%d', '%s', false)", i, long) }), "reset all"},
		{"set again in a block", "begin", do(func(i int) string { return fmt.Sprintf("set a.b = '%s'", long) }), "rollback; reset all"},
		{"cursors", "begin", do(func(i int) string { return fmt.Sprintf("declare c%d cursor for select generate_series(1, 3)", i) }), "rollback"},
		{"savepoints", "begin", do(func(i int) string { return "savepoint " + strings.Repeat("x", 60) }), "rollback"},
	} {
		c := connect(t, n)
		if tc.before != "" {
			c.must(tc.before)
		}
		used, err := n.pool.Used(), error(nil)
		i := 0
		for ; err == nil && i < 60_000; i++ {
			err = tc.keep(c, i)
		}
		if !pgerr.Is(err, pgerr.OutOfMemory) {
			t.Errorf("%s: %d kept, %v", tc.name, i, err)
		}
		for sql := range strings.SplitSeq(tc.free, "; ") {
			c.must(sql)
		}
		if now := n.pool.Used(); now > used+1<<20 {
			t.Errorf("%s: %d bytes are in use, before %d", tc.name, now, used)
		}
		if err := tc.keep(c, 0); err != nil && tc.before == "" {
			t.Errorf("%s, anew: %v", tc.name, err)
		}
	}

	// Portals: values that were bound, and statements that wait for their client.
	c := connect(t, n)
	text, err := prepare(c, "select $1 from generate_series(1, 3)")
	if err != nil {
		t.Fatal(err)
	}
	st, err := c.s.Prepare(ctx, text, []types.OID{types.TextOID})
	if err != nil {
		t.Fatal(err)
	}
	for _, wait := range []bool{false, true} {
		value := long
		if wait {
			value = "x"
		}
		used := n.pool.Used()
		var open []interface{ Close() error }
		for err = nil; err == nil && len(open) < 60_000; {
			p, berr := st.Bind(ctx, []types.Datum{value})
			if err = berr; err != nil {
				break
			}
			open = append(open, p)
			if wait {
				if _, err = p.Next(ctx); err == nil {
					err = p.Suspend()
				}
			}
		}
		if !pgerr.Is(err, pgerr.OutOfMemory) {
			t.Errorf("%d portals, %v", len(open), err)
		}
		for _, p := range open {
			_ = p.Close()
		}
		_ = c.s.Sync(ctx, false)
		if now := n.pool.Used(); now > used+1<<20 {
			t.Errorf("%d portals closed: %d bytes are in use, before %d", len(open), now, used)
		}
	}
}
