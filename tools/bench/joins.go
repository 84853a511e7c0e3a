package main

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed joins/*.sql
var joinQueries embed.FS

// joins runs the five queries of db-benchmark's join task, first with answers summed on
// the server, then with answers stored in a table.
func (b *run) joins(ctx context.Context) error {
	if err := b.joinsReady(ctx); err != nil || b.o.LoadOnly {
		return err
	}
	for n := 1; n <= 10; n++ {
		if !b.wants(n) {
			continue
		}
		name := fmt.Sprintf("q%02d", n)
		text, err := joinQueries.ReadFile("joins/" + name + ".sql")
		if err != nil {
			return err
		}
		if before, timed, kept := strings.Cut(string(text), "-- timed\n"); kept {
			if err := b.kept(ctx, name, before, timed); err != nil {
				return err
			}
		} else if err := b.one(ctx, "joins", name, string(text)); err != nil {
			return err
		}
	}
	return b.exec(ctx, "DROP TABLE IF EXISTS jans")
}

// kept measures statements that store an answer in a table; sums over that table are
// compared.
func (b *run) kept(ctx context.Context, name, before, timed string) error {
	timed, sums, _ := strings.Cut(timed, "-- kept\n")
	r, _, err := b.measure(ctx, "joins", name, statements(before), statements(timed))
	if err == nil && r.Error == "" {
		if a, failed := b.query(ctx, sums); failed != nil {
			r.Error = failed.Error()
		} else {
			r.Hash = a.hash()
			err = b.compare(&r, a)
		}
	}
	b.add(r)
	return err
}

func (b *run) joinsReady(ctx context.Context) error {
	if there, err := b.rowsThere(ctx, "jbig", b.o.Rows); there || err != nil {
		return err
	}
	if err := b.exec(ctx, "DROP TABLE IF EXISTS jx, jsmall, jmedium, jbig"); err != nil {
		return err
	}
	text, err := joinQueries.ReadFile("joins/create.sql")
	if err != nil {
		return err
	}
	size := func(n int64) string { return strconv.FormatInt(max(n, 1), 10) }
	small, medium := b.o.Rows/1_000_000, b.o.Rows/1000
	sizes := strings.NewReplacer(":rows", size(b.o.Rows), ":medium", size(medium), ":small", size(small),
		":shift1", size(small/10), ":shift2", size(medium/10), ":shift3", size(b.o.Rows/10))
	start := time.Now()
	for _, sql := range statements(sizes.Replace(string(text))) {
		if err := b.exec(ctx, sql); err != nil {
			return err
		}
	}
	b.say("made jx and jbig of %d rows in %.2f s", b.o.Rows, time.Since(start).Seconds())
	return b.analyze(ctx)
}
