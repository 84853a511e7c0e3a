package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// clickbench runs the 43 queries of ClickBench (https://github.com/ClickHouse/ClickBench). Table and texts are read
// from files: its licence (CC BY-NC-SA 4.0) does not allow to pass the texts on with this program.
//
//	hits.parquet   --hits, any name
//	queries.sql    beside it, or in --dir: postgresql/queries.sql of that repository, a query a line
func (b *run) clickbench(ctx context.Context) error {
	dir := cmp.Or(b.o.Dir, filepath.Dir(b.o.Hits))
	if _, err := os.Stat(filepath.Join(dir, "queries.sql")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no queries.sql; it is postgresql/queries.sql of https://github.com/ClickHouse/ClickBench", dir)
	}
	if err := b.hitsReady(ctx); err != nil || b.o.LoadOnly {
		return err
	}
	return b.texts(ctx, "clickbench", os.DirFS(dir), ".")
}

// hitsReady makes the table of the file, unless it is there with as many rows.
func (b *run) hitsReady(ctx context.Context) error {
	path, err := filepath.Abs(b.o.Hits)
	if err != nil {
		return err
	}
	file := "read_parquet('" + strings.ReplaceAll(path, "'", "''") + "')"
	if there, err := b.sourceThere(ctx, "hits", file); there || err != nil {
		return err
	}
	items, err := b.hitsColumns(ctx, file)
	if err != nil {
		return err
	}
	if err := b.exec(ctx, "DROP TABLE IF EXISTS hits"); err != nil {
		return err
	}
	c0, start := b.cpuTime(), time.Now()
	if err := b.exec(ctx, "CREATE TABLE hits AS SELECT "+items+" FROM "+file); err != nil {
		return err
	}
	b.say("loaded hits in %.2f s (%.2f s of processors)", time.Since(start).Seconds(), b.cpuTime()-c0)
	return b.analyze(ctx)
}

// hitsColumns selects the columns of the file with their names in lower case, as the queries write them without
// quotes. The file that ClickBench publishes has dates and times as numbers of days and seconds, and texts as bytes.
func (b *run) hitsColumns(ctx context.Context, file string) (string, error) {
	rows, err := b.conn.Query(ctx, "SELECT * FROM "+file+" LIMIT 0")
	if err != nil {
		return "", err
	}
	fields := rows.FieldDescriptions()
	rows.Close()
	items := make([]string, len(fields))
	for i, f := range fields {
		name := strings.ToLower(f.Name)
		item := `"` + f.Name + `"`
		switch whole := f.DataTypeOID == pgtype.Int2OID || f.DataTypeOID == pgtype.Int4OID || f.DataTypeOID == pgtype.Int8OID; {
		case whole && strings.HasSuffix(name, "eventdate"):
			item = "date '1970-01-01' + " + item + "::int"
		case whole && strings.HasSuffix(name, "eventtime"):
			item = "timestamp '1970-01-01' + " + item + " * interval '1 second'"
		case f.DataTypeOID == pgtype.ByteaOID:
			item = "convert_from(" + item + ", 'UTF8')"
		}
		items[i] = item + " AS " + name
	}
	return strings.Join(items, ", "), rows.Err()
}
