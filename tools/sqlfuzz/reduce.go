package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// reduceFor is how long one failure is reduced.
const reduceFor = 20 * time.Second

// report reduces a failing trial, prints it and writes it as a case. If the server is
// gone the trial stays as it was.
func (w *worker) report(ctx context.Context, t trial, found finding) error {
	small, now, gone := w.smaller(ctx, t, found)
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s: %s (%s)\n", small.kind, now.failure, w.o.label())
	for _, sql := range small.setup {
		fmt.Fprintf(&b, "%s;\n", sql)
	}
	for i, r := range small.requests() {
		for j, p := range r.params {
			fmt.Fprintf(&b, "-- $%d, type %d, binary %t: %q, NULL %t\n", j+1, p.oid, r.binary, p.text, p.null)
		}
		fmt.Fprintf(&b, "%s;\n", r.sql)
		if i < len(now.answers) {
			fmt.Fprintf(&b, "-- %s\n", strings.ReplaceAll(now.answers[i], "\n", "\n-- "))
		}
	}
	for _, a := range now.answers[min(len(small.requests()), len(now.answers)):] {
		fmt.Fprintf(&b, "-- %s\n", strings.ReplaceAll(a, "\n", "\n-- "))
	}
	if err := w.keep(b.String()); err != nil || gone != nil {
		return errors.Join(err, gone)
	}
	// The round continues where it was.
	return w.fresh(ctx, t.setup)
}

func (w *worker) smaller(ctx context.Context, t trial, found finding) (trial, finding, error) {
	small, err := w.reduce(ctx, t, found)
	if err == nil {
		err = w.fresh(ctx, small.setup)
	}
	var again finding
	if err == nil {
		again, err = w.ask(ctx, small)
	}
	if err != nil || again.failure == "" {
		return t, found, err // it does not fail on a fresh set-up: keep it as it was
	}
	return small, again, nil
}

// reduce drops statements of the set-up, then tokens of the texts, for as long
// as the trial fails the same way.
func (w *worker) reduce(ctx context.Context, t trial, found finding) (trial, error) {
	until := time.Now().Add(reduceFor)
	fails := func(t trial, setup bool) (bool, error) {
		if setup || t.state {
			if err := w.fresh(ctx, t.setup); err != nil {
				return false, err
			}
		}
		again, err := w.ask(ctx, t)
		return again.failure == found.failure && again.signature == found.signature, err
	}
	for i := len(t.setup) - 1; i >= 0 && time.Now().Before(until); i-- {
		less := t
		less.setup = slices.Delete(slices.Clone(t.setup), i, i+1)
		ok, err := fails(less, true)
		if err != nil {
			return t, err
		}
		if ok {
			t = less
		}
	}
	if err := w.fresh(ctx, t.setup); err != nil {
		return t, err
	}
	if t.extended {
		less := t
		less.parts, less.extended, less.params = []string{inlined(t.parts[0], t.params)}, false, nil
		ok, err := fails(less, false)
		if err != nil {
			return t, err
		}
		if ok {
			t = less
		}
	}
	for part := range t.parts {
		list := tokens(t.parts[part])
		for size := len(list) / 2; size > 0 && time.Now().Before(until); {
			cut := false
			for at := 0; at+size <= len(list) && time.Now().Before(until); {
				rest := slices.Delete(slices.Clone(list), at, at+size)
				if !balanced(list[at : at+size]) {
					at++
					continue
				}
				less := t
				less.parts = slices.Clone(t.parts)
				less.parts[part] = strings.Join(rest, "")
				ok, err := fails(less, false)
				if err != nil {
					return t, err
				}
				if ok {
					t, list, cut = less, rest, true
				} else {
					at++
				}
			}
			if !cut || size > len(list)/2 {
				size /= 2
			}
		}
	}
	return t, nil
}

// inlined replaces parameters by literals.
func inlined(sql string, params []param) string {
	for i := len(params) - 1; i >= 0; i-- {
		literal := "NULL"
		if !params[i].null {
			literal = "'" + strings.ReplaceAll(params[i].text, "'", "''") + "'"
		}
		sql = strings.ReplaceAll(sql, fmt.Sprintf("$%d", i+1), literal)
	}
	return sql
}

func balanced(list []string) bool {
	open := 0
	for _, s := range list {
		switch strings.TrimSpace(s) {
		case "(", "[":
			open++
		case ")", "]":
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0
}

// tokens splits a statement into tokens; joined they are the statement.
func tokens(sql string) []string {
	var list []string
	word := func(c byte) bool {
		return c == '_' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
	}
	for i := 0; i < len(sql); {
		j := i + 1
		switch {
		case sql[i] == '\'':
			for j < len(sql) && sql[j] != '\'' {
				j++
			}
			j = min(j+1, len(sql))
		case word(sql[i]):
			for j < len(sql) && word(sql[j]) {
				j++
			}
		}
		for j < len(sql) && sql[j] == ' ' {
			j++
		}
		list = append(list, sql[i:j])
		i = j
	}
	return list
}
