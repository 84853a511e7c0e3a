package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// big makes a table of several segments whose rows fill many batches.
const big = "create table big as select g as id, g % 1000 as a, 'some text that takes room ' || g as b from generate_series(1, 60000) g; " +
	"insert into big select id + 60000, a, b from big; insert into big select id + 120000, a, b from big"

const bigRows = 240000

// TestLostBeforeFirstRow: if a node is lost before the first row of a result is sent, the statement
// is run without it and succeeds, whether or not the gateway knew of the loss.
func TestLostBeforeFirstRow(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0], spread)
	c.must(big)
	want := []string{fmt.Sprintf("%d|%d", bigRows, bigRows*(bigRows+1)/2)}
	if err := nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := c.must("select count(*), sum(id) from big"); !slices.Equal(got, want) {
			t.Fatalf("%q is not %q", got, want)
		}
		if got := c.must("select count(*) from big x join big y on x.id = y.id + 1 where x.a = 5"); !slices.Equal(got, []string{fmt.Sprint(bigRows / 1000)}) {
			t.Fatalf("%q", got)
		}
		// Each node reads a range of the ids; with a node less, the ids are divided into fewer ranges.
		if got := c.must("select count(*), sum(y.id) from big x join big y on x.id = y.id"); !slices.Equal(got, want) {
			t.Fatalf("%q is not %q", got, want)
		}
	}
}

// TestLostInTheMiddle: if a node is lost after rows were sent, the statement fails with 57P01, since
// those of another attempt might be others. The session stays usable.
func TestLostInTheMiddle(t *testing.T) {
	for _, sql := range []string{"select * from big", "select x.id, y.b from big x join big y on x.id = y.id"} {
		nodes := start(t, 3)
		c := connect(t, nodes[0], spread)
		c.must(big)
		p, err := c.query(sql)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		// One batch was read, and flow control bounds how much more a node may send: it has not sent
		// all its rows yet.
		if err := nodes[1].Close(); err != nil {
			t.Fatal(err)
		}
		rows := b.Rows()
		for err == nil {
			if b, err = p.Next(context.Background()); err == nil {
				rows += b.Rows()
			}
		}
		if !pgerr.Is(err, pgerr.AdminShutdown) {
			t.Errorf("%s: %d rows and %v", sql, rows, err)
		}
		if err := c.s.Sync(context.Background(), false); err != nil {
			t.Fatal(err)
		}
		if got := c.must("select count(*) from big"); got[0] != fmt.Sprint(bigRows) {
			t.Errorf("afterwards there are %s rows", got[0])
		}
	}
}

// TestNodeComesBack: a node that was down sees what was written meanwhile, and plans run on it again.
func TestNodeComesBack(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0], spread)
	c.must(big)
	o := nodes[2].o
	o.ListenCluster = nodes[2].ClusterAddr()
	if err := nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	c.must("insert into big select id + 240000, a, b from big where id <= 10")
	back, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	own := connect(t, back, spread)
	for _, x := range []*client{c, own} {
		if got := x.must("select count(*) from big"); got[0] != fmt.Sprint(bigRows+10) {
			t.Errorf("%s rows", got[0])
		}
	}
	if plan := strings.Join(own.must("explain analyze select sum(id) from big"), "\n"); !strings.Contains(plan, "on 3 nodes") {
		t.Error(plan)
	}
}
