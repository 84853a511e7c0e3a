package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestSharedDirectories: files in a shared directory are read by all nodes, and others by the gateway
// alone, with the same results.
func TestSharedDirectories(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		var b strings.Builder
		b.WriteString("part,x\n")
		for j := range 500 {
			fmt.Fprintf(&b, "%d,%d\n", i, i*j%97)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.csv", i)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	nodes := start(t, 3)
	c := connect(t, nodes[1], "tributary.distribute_rows = 100", "tributary.distribute_cost = 0")
	sql := fmt.Sprintf(`with part as (select part, count(*) as n, sum(x) as s from read_csv('%s/*.csv') group by part)
		select a.part, a.n, b.s - a.s from part a join part b on b.part = a.part + 1 order by 1`, dir)
	want := c.must(sql)
	if len(want) != 39 {
		t.Fatal(len(want))
	}
	sum := fmt.Sprintf("select part, count(*) from read_csv('%s/*.csv') group by part", dir)
	if got := strings.Join(c.must("explain analyze "+sum), "\n"); strings.Contains(got, "nodes") {
		t.Errorf("read by others:\n%s", got)
	}
	c.must(fmt.Sprintf("set tributary.shared_directories = '/mnt/none, %s/'", dir))
	if got := strings.Join(c.must("explain analyze "+sum), "\n"); !strings.Contains(got, "on 3 nodes") {
		t.Errorf("not read by all:\n%s", got)
	}
	if _, err := c.do("set tributary.shared_directories = 'data'"); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error(err)
	}
	if got := c.must(sql); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("other rows: %q, not %q", got, want)
	}
}
