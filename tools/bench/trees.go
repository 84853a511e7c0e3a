package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// treeCase is a training of trees. Its table has a column part, 1 in the fifth of the
// rows that are held out for measuring.
type treeCase struct {
	name, table string
	rows        int64
	target      string
	query       string // makes the table; part is added
	using       string
}

const boosting = "gradient_boosted_trees PREDICT %s WITH (n_estimators = 100, max_depth = 6, learning_rate = 0.1%s)"

// asLightGBM sets LightGBM's defaults instead of XGBoost's (l2 = 1, min_child_weight =
// 1): with flights they are the difference between an AUC of 0.699 and of 0.702.
const asLightGBM = ", l2 = 0, min_child_weight = 0.001"

func (b *run) treeCases() []treeCase {
	n := b.o.Samples * 5 / 4
	made := func(n int64) string {
		return fmt.Sprintf("make_classification(n_samples => %d, n_features => 28, n_informative => 12, n_redundant => 6, random_state => 42)", n)
	}
	var plain, mixed []string
	for i := range 28 {
		plain = append(plain, fmt.Sprintf("x%d::real AS x%d", i, i))
		// One value in ten is missing; ten columns are categories, of 5 to 200
		// names in no order.
		gap := fmt.Sprintf("(n * 7919 + %d) %% 1009 %% 10 = 0", 101*i)
		value := fmt.Sprintf("x%d::real", i)
		if i < 10 {
			parts := []int{5, 8, 12, 20, 30, 50, 80, 100, 150, 200}[i]
			value = fmt.Sprintf("'k' || (floor((least(greatest(x%d, -6), 5.999) + 6) * %d / 12)::bigint * 7919 %% 1009)", i, parts)
		}
		mixed = append(mixed, fmt.Sprintf("CASE WHEN %s THEN NULL ELSE %s END AS x%d", gap, value, i))
	}
	// Rows come in any order. They are numbered by their values, so that the same ones are
	// held out and have missing values each time.
	numbered := func(from, by string) string {
		return "(SELECT *, row_number() OVER (ORDER BY " + by + ") - 1 AS n FROM " + from + ") AS numbered"
	}
	boost := func(target, more string) string { return fmt.Sprintf(boosting, target, more) }
	forest := n * 3 / 10
	cases := []treeCase{
		{"boosted", "bench_boosted", n, "y", "SELECT " + strings.Join(plain, ", ") + ", y::integer AS y, n FROM " + numbered(made(n), "x0, x1"), boost("y", "")},
		{"categories", "bench_categories", n, "y", "SELECT " + strings.Join(mixed, ", ") + ", y::integer AS y, n FROM " + numbered(made(n), "x0, x1"), boost("y", "")},
		{"forest", "bench_forest", forest, "y", "SELECT " + strings.Join(plain, ", ") + ", y::integer AS y, n FROM " + numbered(made(forest), "x0, x1"),
			"random_forest PREDICT y WITH (n_estimators = 50, max_depth = 12)"},
	}
	if b.o.Flights != "" {
		flights := "read_parquet('" + strings.ReplaceAll(b.o.Flights, "'", "''") + "')"
		cases = append(cases, treeCase{"flights", "bench_flights", 0, "late", "SELECT extract(hour FROM date)::integer AS hour, extract(dow FROM date)::integer AS weekday, " +
			"distance, origin, destination, (delay > 15)::integer AS late, n FROM " + numbered(flights, "date, origin, destination, distance, delay"), boost("late", asLightGBM)})
	}
	return cases
}

// trees trains each case and measures it on the held-out rows.
func (b *run) trees(ctx context.Context) error {
	for _, k := range b.treeCases() {
		if err := b.treeReady(ctx, k); err != nil {
			return err
		}
		if b.o.LoadOnly {
			continue
		}
		model := "bench_trees_" + k.name
		part := func(n int) string {
			return fmt.Sprintf("(SELECT * EXCLUDE (part) FROM %s WHERE part = %d)", k.table, n)
		}
		r, err := b.timeTraining(ctx, "trees", k.name, fmt.Sprintf("TRAIN OR REPLACE MODEL %s USING %s AS %s", model, k.using, part(0)))
		if err != nil {
			return err
		}
		a, err := b.query(ctx, fmt.Sprintf("SELECT roc_auc FROM ml.evaluate('%s', (%s))", model, part(1)))
		if err != nil {
			return err
		}
		if len(a.rows) != 1 {
			return fmt.Errorf("the measures of %s are %d rows, want 1", model, len(a.rows))
		}
		r.Values["auc"] = a.rows[0][0].text
		b.add(r)
		b.say("%s: AUC %s of rows that were left out", k.name, r.Values["auc"])
	}
	return nil
}

func (b *run) treeReady(ctx context.Context, k treeCase) error {
	there, err := b.there(ctx, k.table)
	if err != nil {
		return err
	}
	if there && !b.o.Reload {
		n, err := b.count(ctx, k.table)
		if err != nil {
			return err
		}
		if k.rows > 0 && n != k.rows {
			return fmt.Errorf("there is a table %s of %d rows, not %d; give --reload to replace it", k.table, n, k.rows)
		}
	} else {
		if err := b.exec(ctx, "DROP TABLE IF EXISTS "+k.table); err != nil {
			return err
		}
		if err := b.exec(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT * EXCLUDE (n), CASE WHEN n %% 5 = 4 THEN 1 ELSE 0 END AS part FROM (%s) AS made", k.table, k.query)); err != nil {
			return err
		}
	}
	if b.o.Export == "" {
		return nil
	}
	return b.treeExport(ctx, k)
}

// treeExport writes the rows of both parts for the peer as trees-NAME.csv.
func (b *run) treeExport(ctx context.Context, k treeCase) (err error) {
	if err := os.MkdirAll(b.o.Export, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(b.o.Export, "trees-"+k.name+".csv"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = b.conn.PgConn().CopyTo(ctx, f, "COPY "+k.table+" TO STDOUT (FORMAT csv, HEADER)")
	return err
}
