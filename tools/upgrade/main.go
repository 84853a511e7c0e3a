package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

//go:embed previous
var previous string

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
	root, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	commit := strings.TrimSpace(previous)
	if *layouts {
		return writeLayouts(ctx, root, commit)
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tributary-upgrade"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if err := checkLayouts(ctx, root, commit); err != nil {
		return err
	}
	older, newer := *before, *program
	if older == "" {
		src := filepath.Join(dir, "source")
		if err := checkout(ctx, root, commit, src); err != nil {
			return err
		}
		if older, err = build(ctx, src, filepath.Join(dir, "before")); err != nil {
			return err
		}
	}
	if newer == "" {
		if newer, err = build(ctx, root, filepath.Join(dir, "new")); err != nil {
			return err
		}
	}
	say("the programs are built")
	w := &walk{older: older, newer: newer, dir: dir}
	defer w.close()
	return w.run(ctx)
}

// checkout puts the files of a commit into a directory.
func checkout(ctx context.Context, root, commit, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	archive := exec.CommandContext(ctx, "git", "archive", commit)
	archive.Dir = root
	tar, err := archive.Output()
	if err != nil {
		return fmt.Errorf("commit %s is not in this clone (git fetch --unshallow): %w", commit, err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", to)
	unpack.Stdin = bytes.NewReader(tar)
	return unpack.Run()
}

// build builds a program; what both have in common is compiled once.
func build(ctx context.Context, src, to string) (string, error) {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", to, "./cmd/tributary")
	c.Dir, c.Env = src, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", src, err, out)
	}
	return to, nil
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	out, err := c.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = fmt.Errorf("%s %v: %w: %s", name, args, err, ended.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// layoutsOf returns the lines of a commit's layouts, each once.
func layoutsOf(ctx context.Context, root, commit string) (lines []string, err error) {
	page, err := output(ctx, root, "git", "show", commit+":docs/explanation/layouts.md")
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

func writeLayouts(ctx context.Context, root, commit string) error {
	lines, err := layoutsOf(ctx, root, commit)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "sql/version/previous.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

// checkLayouts checks that the product takes for known what the commit had.
func checkLayouts(ctx context.Context, root, commit string) error {
	lines, err := layoutsOf(ctx, root, commit)
	if err != nil {
		return err
	}
	known, err := os.ReadFile(filepath.Join(root, "sql/version/previous.txt"))
	if err != nil {
		return err
	}
	for _, line := range lines {
		if !strings.Contains("\n"+string(known), "\n"+line+"\n") {
			return fmt.Errorf("sql/version/previous.txt does not have a layout of commit %s (see --layouts):\n%s", commit, line)
		}
	}
	return nil
}
