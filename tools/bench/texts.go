package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed groupby/*.sql features/*.sql
var texts embed.FS

// groupby runs the ten group-by queries of db-benchmark
// (https://duckdblabs.github.io/db-benchmark). Each answer is summed on the server, as
// db-benchmark does to check it, so that sending millions of groups does not count.
func (b *run) groupby(ctx context.Context) error { return b.folder(ctx, "groupby", texts, "groupby") }

// features runs what people write to make features of events before they train a model.
func (b *run) features(ctx context.Context) error {
	return b.folder(ctx, "features", texts, "features")
}

// sql runs the texts of a directory.
func (b *run) sql(ctx context.Context) error { return b.folder(ctx, "sql", os.DirFS(b.o.Dir), ".") }

// folder runs the texts of a directory after create.sql, if there is one and its first table is not there yet.
// :rows in it stands for --rows, :groups for a hundredth, :users for a fiftieth.
func (b *run) folder(ctx context.Context, suite string, files fs.FS, dir string) error {
	if err := b.folderReady(ctx, files, dir); err != nil || b.o.LoadOnly {
		return err
	}
	return b.texts(ctx, suite, files, dir)
}

// texts runs the texts of a directory: the lines of queries.sql, counted from 0, if there is one; else a query a
// file, counted from 1, in the order of their names.
func (b *run) texts(ctx context.Context, suite string, files fs.FS, dir string) error {
	lines, err := fs.ReadFile(files, path.Join(dir, "queries.sql"))
	if err == nil {
		for n, sql := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
			if !b.wants(n) {
				continue
			}
			if err := b.one(ctx, suite, fmt.Sprintf("q%02d", n), sql); err != nil {
				return err
			}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := fs.Glob(files, path.Join(dir, "*.sql"))
	if err != nil {
		return err
	}
	n := 0
	for _, file := range all {
		name := strings.TrimSuffix(path.Base(file), ".sql")
		if name == "create" {
			continue
		}
		if n++; !b.wants(n) {
			continue
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		if err := b.one(ctx, suite, name, string(text)); err != nil {
			return err
		}
	}
	if n == 0 {
		return fmt.Errorf("there are no queries in %s", b.o.Dir)
	}
	return nil
}

var firstTable = regexp.MustCompile(`(?i)create\s+table\s+(\w+)`)

func (b *run) folderReady(ctx context.Context, files fs.FS, dir string) error {
	text, err := fs.ReadFile(files, path.Join(dir, "create.sql"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	made := firstTable.FindSubmatch(text)
	if made == nil {
		return errors.New("create.sql makes no table")
	}
	table, sized := string(made[1]), strings.Contains(string(text), ":rows")
	there, err := b.there(ctx, table)
	if err == nil && there && sized {
		there, err = b.rowsThere(ctx, table, b.o.Rows)
	}
	if err != nil || there && !b.o.Reload {
		return err
	}
	if err := b.exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
		return err
	}
	part := func(n int64) string { return strconv.FormatInt(max(b.o.Rows/n, 1), 10) }
	sql := strings.NewReplacer(":rows", part(1), ":groups", part(100), ":users", part(50)).Replace(string(text))
	start := time.Now()
	if err := b.exec(ctx, sql); err != nil {
		return err
	}
	b.say("made %s in %.2f s", table, time.Since(start).Seconds())
	return b.analyze(ctx)
}

// rowsThere reports whether a table exists, and is to be kept, with so many rows; another number is an error.
func (b *run) rowsThere(ctx context.Context, table string, rows int64) (bool, error) {
	there, err := b.there(ctx, table)
	if err != nil || !there || b.o.Reload {
		return false, err
	}
	n, err := b.count(ctx, table)
	if err == nil && n != rows {
		err = fmt.Errorf("there is a table %s of %d rows, not %d; give --reload to replace it", table, n, rows)
	}
	return true, err
}

// sourceThere is rowsThere of a table with the rows of a source, which are counted only if the table exists.
func (b *run) sourceThere(ctx context.Context, table, source string) (bool, error) {
	there, err := b.there(ctx, table)
	if err != nil || !there || b.o.Reload {
		return false, err
	}
	rows, err := b.count(ctx, source)
	if err != nil {
		return true, err
	}
	return b.rowsThere(ctx, table, rows)
}

// beside prints the least times beside those of a peer's results (--peer), of the queries that both answered,
// and the geometric mean of the quotients of t + 10 ms.
func (b *run) beside() error {
	if b.o.Peer == "" {
		return nil
	}
	text, err := os.ReadFile(b.o.Peer)
	if err != nil {
		return err
	}
	var peer struct {
		Server  string
		Results []report
	}
	if err := json.Unmarshal(text, &peer); err != nil {
		return fmt.Errorf("%s: %w", b.o.Peer, err)
	}
	theirs := map[[2]string]float64{}
	for _, r := range peer.Results {
		theirs[[2]string{r.Suite, r.Name}] = r.Min
	}
	b.say("\n| beside %s | min s | its | quotient |\n|---|---:|---:|---:|", peer.Server)
	sum, n := 0.0, 0
	for _, r := range b.all {
		t, ok := theirs[[2]string{r.Suite, r.Name}]
		if !ok || r.Error != "" {
			continue
		}
		q := (r.Min + 0.01) / (t + 0.01)
		sum, n = sum+math.Log(q), n+1
		b.say("| %s %s | %.3f | %.3f | %.2f |", r.Suite, r.Name, r.Min, t, q)
	}
	if n > 0 {
		b.say("| geometric mean of %d | | | %.2f |", n, math.Exp(sum/float64(n)))
	}
	return nil
}
