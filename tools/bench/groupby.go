package main

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed groupby/*.sql
var groupbyQueries embed.FS

// groupby runs the ten group-by queries of db-benchmark
// (https://duckdblabs.github.io/db-benchmark). Each answer is summed on the server, as
// db-benchmark does to check it, so that sending millions of groups does not count.
func (b *run) groupby(ctx context.Context) error {
	if err := b.groupbyReady(ctx); err != nil || b.o.LoadOnly {
		return err
	}
	for n := 1; n <= 10; n++ {
		if !b.wants(n) {
			continue
		}
		name := fmt.Sprintf("q%02d", n)
		text, err := groupbyQueries.ReadFile("groupby/" + name + ".sql")
		if err != nil {
			return err
		}
		if err := b.one(ctx, "groupby", name, string(text)); err != nil {
			return err
		}
	}
	return nil
}

func (b *run) groupbyReady(ctx context.Context) error {
	if there, err := b.rowsThere(ctx, "g1"); there || err != nil {
		return err
	}
	if err := b.exec(ctx, "DROP TABLE IF EXISTS g1"); err != nil {
		return err
	}
	text, err := groupbyQueries.ReadFile("groupby/create.sql")
	if err != nil {
		return err
	}
	sql := strings.NewReplacer(":rows", strconv.FormatInt(b.o.Rows, 10), ":groups", strconv.FormatInt(max(b.o.Rows/100, 1), 10)).Replace(string(text))
	start := time.Now()
	if err := b.exec(ctx, sql); err != nil {
		return err
	}
	b.say("made g1 of %d rows in %.2f s", b.o.Rows, time.Since(start).Seconds())
	return b.analyze(ctx)
}

// rowsThere reports whether a table exists, and is to be kept, with --rows rows;
// another number is an error.
func (b *run) rowsThere(ctx context.Context, table string) (bool, error) {
	there, err := b.there(ctx, table)
	if err != nil || !there || b.o.Reload {
		return false, err
	}
	n, err := b.count(ctx, table)
	if err == nil && n != b.o.Rows {
		err = fmt.Errorf("there is a table %s of %d rows, not %d; give --reload to replace it", table, n, b.o.Rows)
	}
	return true, err
}
