package sqlfuzz

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reduceFor is how long one failure is cut down.
const reduceFor = 20 * time.Second

// report cuts a failing trial down, prints it and writes it as a case.
func (f *fuzzer) report(ctx context.Context, t trial, found finding) error {
	small, err := f.reduce(ctx, t, found)
	if err != nil {
		return err
	}
	if err := f.fresh(ctx, small.setup); err != nil {
		return err
	}
	if again, err := f.judge(ctx, small); err != nil {
		return err
	} else if again.failure != "" {
		found = again
	} else {
		small = t // it does not fail on a set-up made anew: kept as it was
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s: %s (seed %d)\n", small.kind, found.failure, f.o.Seed)
	for _, sql := range small.setup {
		fmt.Fprintf(&b, "%s;\n", sql)
	}
	for i, sql := range small.statements() {
		fmt.Fprintf(&b, "%s;\n", sql)
		if i < len(found.answers) {
			fmt.Fprintf(&b, "-- %s\n", strings.ReplaceAll(found.answers[i], "\n", "\n-- "))
		}
	}
	for _, a := range found.answers[min(len(small.statements()), len(found.answers)):] {
		fmt.Fprintf(&b, "-- %s\n", strings.ReplaceAll(a, "\n", "\n-- "))
	}
	f.failures++
	fmt.Fprintf(f.out, "\n%s", b.String())
	if f.o.Cases != "" {
		if err := os.MkdirAll(f.o.Cases, 0o755); err != nil {
			return err
		}
		name := filepath.Join(f.o.Cases, fmt.Sprintf("seed%d-%d.sql", f.o.Seed, f.failures))
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	// The round goes on where it was.
	return f.fresh(ctx, t.setup)
}

// reduce drops statements of the set-up, then tokens of the texts, for as long
// as the trial fails the same way.
func (f *fuzzer) reduce(ctx context.Context, t trial, found finding) (trial, error) {
	until := time.Now().Add(reduceFor)
	fails := func(t trial, setup bool) (bool, error) {
		if setup || t.state {
			if err := f.fresh(ctx, t.setup); err != nil {
				return false, err
			}
		}
		again, err := f.judge(ctx, t)
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
	if err := f.fresh(ctx, t.setup); err != nil {
		return t, err
	}
	for part := range t.parts {
		if t.kind == "settings" && part == 1 {
			continue
		}
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

// tokens splits a statement; joined again they are the statement.
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
