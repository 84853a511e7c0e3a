package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tributarydb/tributary/internal/process"
	"github.com/tributarydb/tributary/tools/nemesis/patch"
	"github.com/tributarydb/tributary/tools/release"
)

// Build builds the program in a directory and returns its path. Where possible its
// clock and disk can be tampered with (package patch).
func Build(dir string) (string, error) {
	flags, err := patched(dir)
	if err != nil {
		return "", err
	}
	return process.Build(dir, flags...)
}

// BuildBefore builds the release before, as Build does this program.
func BuildBefore(ctx context.Context, dir string) (string, error) {
	flags, err := patched(dir)
	if err != nil {
		return "", err
	}
	return release.BuildPrevious(ctx, dir, flags...)
}

// patched makes a directory with the patch, and returns the flags of go build that apply it.
func patched(dir string) ([]string, error) {
	lib := filepath.Join(dir, "go")
	if err := os.MkdirAll(lib, 0o700); err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	overlay, err := patch.Overlay(lib)
	return []string{"-overlay", overlay}, err
}
