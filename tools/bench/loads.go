package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

//go:embed loads/*.sql
var loadTexts embed.FS

// loads measures statements that write many rows, each into new tables. The peer's
// script makes the files that the server reads.
func (b *run) loads(ctx context.Context) error {
	dir, err := filepath.Abs(b.o.Loads)
	if err != nil {
		return err
	}
	files, err := fs.ReadDir(loadTexts, "loads")
	if err != nil {
		return err
	}
	for i, f := range files {
		if !b.wants(i + 1) {
			continue
		}
		text, err := fs.ReadFile(loadTexts, "loads/"+f.Name())
		if err != nil {
			return err
		}
		before, timed, _ := strings.Cut(strings.ReplaceAll(string(text), ":dir", strings.ReplaceAll(dir, "'", "''")), "-- timed\n")
		r, _, err := b.measure(ctx, "loads", strings.TrimSuffix(f.Name(), ".sql"), statements(before), statements(timed))
		b.add(r)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return nil
}

// statements splits a text at statements' line ends: sent together they would be one
// transaction.
func statements(text string) []string {
	return strings.SplitAfter(strings.TrimSpace(text), ";\n")
}
