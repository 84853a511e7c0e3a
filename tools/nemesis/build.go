package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/tributarydb/tributary/internal/process"
	"github.com/tributarydb/tributary/tools/nemesis/patch"
)

// Build builds the program in a directory and returns its path. Where possible its
// clock and disk can be tampered with (package patch).
func Build(dir string) (string, error) {
	if runtime.GOOS != "linux" {
		return process.Build(dir)
	}
	lib := filepath.Join(dir, "go")
	if err := os.MkdirAll(lib, 0o700); err != nil {
		return "", err
	}
	overlay, err := patch.Overlay(lib)
	if err != nil {
		return "", err
	}
	return process.Build(dir, "-overlay", overlay)
}
