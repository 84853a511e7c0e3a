package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/tributarydb/tributary/tools/release"
)

var (
	before  = flag.String("before", "", "the program of the release before; built if it is not given")
	program = flag.String("program", "", "the new program; built if it is not given")
	keep    = flag.String("keep", "", "a directory to work in, which stays")
	layouts = flag.Bool("layouts", false, "write sql/version/previous.txt and end")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "upgrade:", err)
		os.Exit(1)
	}
}

var began = time.Now()

func say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context) (err error) {
	root, err := release.Root(ctx)
	if err != nil {
		return err
	}
	if *layouts {
		return writeLayouts(ctx, root)
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tributary-upgrade"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if err := checkLayouts(ctx, root); err != nil {
		return err
	}
	older, newer := *before, *program
	if older == "" {
		if older, err = release.BuildPrevious(ctx, dir); err != nil {
			return err
		}
	}
	if newer == "" {
		if newer, err = release.Build(ctx, root, filepath.Join(dir, "new")); err != nil {
			return err
		}
	}
	say("the programs are built")
	w := &walk{older: older, newer: newer, dir: dir}
	defer w.close()
	return w.run(ctx)
}

// layoutsOf returns the lines of the layouts of the release before, each once.
func layoutsOf(ctx context.Context, root string) (lines []string, err error) {
	page, err := release.Output(ctx, root, "git", "show", release.Commit()+":docs/explanation/layouts.md")
	if err != nil {
		return nil, err
	}
	within, seen := false, map[string]bool{}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			within = !within
		} else if within && !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func writeLayouts(ctx context.Context, root string) error {
	lines, err := layoutsOf(ctx, root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "sql/version/previous.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// checkLayouts checks that the product takes for known what the release before had.
func checkLayouts(ctx context.Context, root string) error {
	lines, err := layoutsOf(ctx, root)
	if err != nil {
		return err
	}
	known, err := os.ReadFile(filepath.Join(root, "sql/version/previous.txt"))
	if err != nil {
		return err
	}
	for _, line := range lines {
		if !strings.Contains("\n"+string(known), "\n"+line+"\n") {
			return fmt.Errorf("sql/version/previous.txt does not have a layout of commit %s (see --layouts):\n%s", release.Commit(), line)
		}
	}
	return nil
}
