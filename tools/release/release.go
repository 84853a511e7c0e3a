// Package release builds the program of the release before from the repository's history.
package release

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed previous
var previous string

// Commit is the commit of the release before.
func Commit() string { return strings.TrimSpace(previous) }

// BuildPrevious builds the release before in a directory, with extra flags of go build, and returns its path.
func BuildPrevious(ctx context.Context, dir string, flags ...string) (string, error) {
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	src := filepath.Join(dir, "source")
	if err := checkout(ctx, root, src); err != nil {
		return "", err
	}
	return Build(ctx, src, filepath.Join(dir, "before"), flags...)
}

// Root is the directory of the repository.
func Root(ctx context.Context) (string, error) {
	return Output(ctx, "", "git", "rev-parse", "--show-toplevel")
}

// checkout puts the files of the commit into a directory.
func checkout(ctx context.Context, root, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	archive := exec.CommandContext(ctx, "git", "archive", Commit())
	archive.Dir = root
	tar, err := archive.Output()
	if err != nil {
		return fmt.Errorf("commit %s is not in this clone (git fetch --unshallow): %w", Commit(), err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", to)
	unpack.Stdin = bytes.NewReader(tar)
	return unpack.Run()
}

// Build builds the program of a source; what two of them have in common is compiled once.
func Build(ctx context.Context, src, to string, flags ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", append(append([]string{"build", "-trimpath", "-buildvcs=false", "-o", to}, flags...), "./cmd/tributary")...)
	c.Dir = src
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", src, err, out)
	}
	return to, nil
}

// Output runs a command in a directory and returns what it prints.
func Output(ctx context.Context, dir, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	out, err := c.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = fmt.Errorf("%s %v: %w: %s", name, args, err, ended.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
