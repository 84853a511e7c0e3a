package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tpcdsTables are those of the TPC-DS specification.
var tpcdsTables = []string{
	"call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address", "customer_demographics", "date_dim",
	"household_demographics", "income_band", "inventory", "item", "promotion", "reason", "ship_mode", "store", "store_returns", "store_sales",
	"time_dim", "warehouse", "web_page", "web_returns", "web_sales", "web_site",
}

// tpcds runs the 99 queries of TPC-DS. The tables and the query texts are read from a
// directory: the licence of the specification's generator and queries does not allow
// redistribution.
//
//	DIR/store_sales.parquet …   (or .csv, with a header)
//	DIR/queries/01.sql … 99.sql
func (b *run) tpcds(ctx context.Context) error {
	if err := b.tpcdsReady(ctx); err != nil || b.o.LoadOnly {
		return err
	}
	for n := 1; n <= 99; n++ {
		if !b.wants(n) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(b.o.TPCDS, "queries", fmt.Sprintf("%02d.sql", n)))
		if err != nil {
			return err
		}
		if err := b.one(ctx, "tpcds", fmt.Sprintf("q%02d", n), string(text)); err != nil {
			return err
		}
	}
	return nil
}

// tpcdsReady loads the tables unless they are there with as many sales as the
// directory has. The server reads the files.
func (b *run) tpcdsReady(ctx context.Context) error {
	sources := make([]string, len(tpcdsTables))
	for i, t := range tpcdsTables {
		var err error
		if sources[i], err = tpcdsSource(b.o.TPCDS, t); err != nil {
			return err
		}
	}
	if there, err := b.sourceThere(ctx, "store_sales", sources[slices.Index(tpcdsTables, "store_sales")]); there || err != nil {
		return err
	}
	start := time.Now()
	for i, t := range tpcdsTables {
		if err := b.exec(ctx, "DROP TABLE IF EXISTS "+t); err != nil {
			return err
		}
		if err := b.exec(ctx, "CREATE TABLE "+t+" AS SELECT * FROM "+sources[i]); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	b.say("loaded TPC-DS in %.2f s", time.Since(start).Seconds())
	return b.analyze(ctx)
}

// tpcdsSource returns the table function call that reads the file of a table.
func tpcdsSource(dir, table string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, table))
	if err != nil {
		return "", err
	}
	for _, f := range []struct{ ext, function string }{{".parquet", "read_parquet"}, {".csv", "read_csv"}} {
		switch _, err := os.Stat(path + f.ext); {
		case err == nil:
			return f.function + "('" + strings.ReplaceAll(path+f.ext, "'", "''") + "')", nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "", fmt.Errorf("%s has neither %s.parquet nor %s.csv", dir, table, table)
}
