package node

import (
	"slices"
	"testing"
)

// TestTypesOfATransaction: expressions over enums that a transaction has created are computed on the
// gateway, since other nodes do not have the uncommitted catalog. There, all labels of a new enum
// compared equal, and a third of the rows was missing.
func TestTypesOfATransaction(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0], spread)
	c.must("create type size as enum ('s', 'm', 'l')")
	const rows = " from generate_series(1, 30000) i"
	c.must("create table boxes as select i, (array['s', 'm', 'l'])[1 + i % 3]::size z" + rows)
	c.must("begin")
	c.must("create type mood as enum ('sad', 'ok', 'happy')")
	c.must("create table moods as select i, (array['sad', 'ok', 'happy'])[1 + i % 3]::mood m" + rows)
	for _, x := range [][]string{
		{"select m, count(*) from moods where m > 'sad' group by m order by m", "ok|10000", "happy|10000"},
		{"select max(m), min(m) from moods", "happy|sad"},
		{"select i, enum_last(m) from moods order by m desc, i limit 1", "2|happy"},
		{"select max(z), min(z) from boxes", "l|s"},
	} {
		if got := c.must(x[0]); !slices.Equal(got, x[1:]) {
			t.Errorf("%s: %q, not %q", x[0], got, x[1:])
		}
	}
	c.must("alter type size add value 'xs' before 's'")
	if got := c.must("select count(*) from boxes where z > 'xs'"); got[0] != "30000" {
		t.Errorf("%s rows are above a new label", got)
	}
	c.must("commit")
	if got := c.must("select max(m), min(m) from moods"); got[0] != "happy|sad" {
		t.Errorf("afterwards %q", got)
	}
}
