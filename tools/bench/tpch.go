package main

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed queries/*.sql
var tpchQueries embed.FS

// tpch runs the 22 queries with the validation parameters of the specification.
func (b *run) tpch(ctx context.Context) error {
	if err := b.tpchReady(ctx); err != nil || b.o.LoadOnly {
		return err
	}
	for n := 1; n <= 22; n++ {
		if !b.wants(n) {
			continue
		}
		name := fmt.Sprintf("q%02d", n)
		text, err := tpchQueries.ReadFile("queries/" + name + ".sql")
		if err != nil {
			return err
		}
		// Q11's threshold shrinks with the data.
		sql := strings.ReplaceAll(string(text), ":fraction", strconv.FormatFloat(0.0001/b.o.SF, 'f', -1, 64))
		if err := b.one(ctx, "tpch", name, sql); err != nil {
			return err
		}
	}
	return nil
}

// one measures a query, compares its answer and records it.
func (b *run) one(ctx context.Context, suite, name, sql string) error {
	r, a, err := b.measure(ctx, suite, name, nil, []string{sql})
	if err == nil && r.Error == "" {
		err = b.compare(&r, a)
	}
	b.add(r)
	return err
}

// compare compares an answer with the peer's and writes it, where that is requested.
func (b *run) compare(r *report, a answer) (err error) {
	if b.o.Check != "" {
		r.Check, err = check(b.o.Check, r.Suite+"-"+r.Name, a)
	}
	if err == nil && b.o.Answers != "" {
		err = a.write(b.o.Answers, r.Suite+"-"+r.Name)
	}
	return err
}
