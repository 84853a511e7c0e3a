package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestPredictionsOfWindows: a model over windows of rows predicts one row for each window, with the
// columns of the window's last row, and does so equally on one node and on three.
func TestPredictionsOfWindows(t *testing.T) {
	before := families.All
	families.All = append(slices.Clip(before), familytest.Fading{})
	t.Cleanup(func() { families.All = before })
	var hashes, sums []string
	for _, n := range oneAndThree() {
		nodes := start(t, n)
		c := connect(t, nodes[n-1], spread)
		c.must(`create table readings as select i % 40 as site, case when i % 3 = 0 then 'a' end as line, (i * 7919) % 4001 as at, sin(i)::float8 as x, (sin(i) * 2 + cos(i * 3))::float8 as y
			from generate_series(1, 4000) i`)
		c.must("train model f using fading predict y with (window = 3, stride = 2, order_by = at, partition_by = ['site', 'line'], standardize = false) as select x, at, site, line, y from readings")
		hashes = append(hashes, c.one("select sha256 || metrics from ml.models"))

		// Columns that only define the windows need not be in TRANSFORM.
		c.must("train model g using fading predict y transform (x) with (window = 3, stride = 2, order_by = at, partition_by = ['site', 'line'], standardize = false) as select * from readings")
		if got := c.one("select count(distinct sha256) from ml.models"); got != "1" {
			t.Errorf("%s models of the same rows", got)
		}

		// The same in SQL: every second row of a partition, from its third row on.
		const byHand = `(select *, x + lag(x) over w / 2 + lag(x, 2) over w / 4 as h, row_number() over w as n from readings
			window w as (partition by site, line order by at)) r where n >= 3 and n % 2 = 1`
		if got, want := c.one("select count(*) from ml.predict('f', (select * from readings))"), c.one("select count(*) from "+byHand); got != want || want < "1000" {
			t.Errorf("%s rows, want %s", got, want)
		}
		if got := c.one(`select count(distinct round((predicted_y / h)::numeric, 9)) || ' ' || count(*) - (select count(*) from ` + byHand + `)
			from ml.predict('f', (select * from readings)) p join (select * from ` + byHand + `) q using (site, at) where p.line is not distinct from q.line`); got != "1 0" {
			t.Errorf("the ratio to what is computed by hand, and rows too few: %s", got)
		}
		sums = append(sums, c.one("select sum(round(predicted_y::numeric, 6)) || ' ' || min(y) || ' ' || max(at) from ml.predict('f', (select * from readings where x > -0.9))"))
		if got := c.one("select e.mean_absolute_error = (select avg(abs(predicted_y - y)) from ml.predict('f', (select * from readings))) from ml.evaluate('f', (select * from readings)) e"); got != "t" && got != "true" {
			t.Errorf("the evaluation is not of the windows: %s", got)
		}
		// Partitions shorter than a window have no predictions.
		if got := c.one("select count(*) from ml.predict('f', (select * from readings where at < 30))"); got != "0" {
			t.Errorf("%s windows of single rows", got)
		}
		if plan := strings.Join(c.must("explain select * from ml.predict('f', (select * from readings))"), "\n"); !strings.Contains(plan, "Window") {
			t.Errorf("no window in the plan:\n%s", plan)
		}
		for sql, want := range map[string]struct {
			code pgerr.Code
			hint string
		}{
			"select predict('f', r) from readings r":                                                {pgerr.FeatureNotSupported, "ml.predict"},
			"select * from ml.explain_predict('f', (select * from readings))":                       {pgerr.FeatureNotSupported, ""},
			"select * from ml.predict('f', (select x, site, line from readings))":                   {pgerr.UndefinedColumn, ""},
			"select * from ml.predict('f', (select x, site, line, nullif(at, 7) at from readings))": {pgerr.NullValueNotAllowed, ""},
		} {
			_, err := c.do(sql)
			if !pgerr.Is(err, want.code) || !strings.Contains(pgerr.From(err).Hint, want.hint) {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	if last := len(hashes) - 1; hashes[0] != hashes[last] || sums[0] != sums[last] {
		t.Errorf("models and predictions of one node and of three differ: %s", fmt.Sprint(hashes, sums))
	}
}
