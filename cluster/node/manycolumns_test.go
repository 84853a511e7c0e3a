package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestWideFile trains on more columns than a table may have, directly from a file.
func TestWideFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("y")
	for c := range 1700 {
		fmt.Fprintf(&b, ",c%d", c)
	}
	for r := range 60 {
		fmt.Fprintf(&b, "\n%d.5", r%5)
		for c := range 1700 {
			fmt.Fprintf(&b, ",%d", (r*(c+1))%7)
		}
	}
	file := filepath.Join(t.TempDir(), "wide.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	c := connect(t, start(t, 1)[0])
	c.must("train model wide using gradient_boosted_trees predict y with (n_estimators = 1, max_depth = 2) as select * from read_csv('" + file + "')")
	if got := c.one("select array_length(features, 1) from ml.models"); got != "1700" {
		t.Errorf("%s features", got)
	}
	if got := c.one("select count(predicted_y) from ml.predict('wide', (select * from read_csv('" + file + "')))"); got != "60" {
		t.Errorf("%s predictions", got)
	}
	if _, err := c.do("create table w as select * from read_csv('" + file + "')"); !pgerr.Is(err, pgerr.TooManyColumns) {
		t.Errorf("a table of 1701 columns: %v", err)
	}
}
