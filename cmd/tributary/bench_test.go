package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchIsAProgramBeside: `tributary bench` finds the benchmarks' program beside itself, then in the path,
// then in the sources; without any it says how to make it.
func TestBenchIsAProgramBeside(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	self := filepath.Join(dir, "tributary")
	t.Chdir(elsewhere)
	t.Setenv("PATH", "")
	if _, _, err := findBench(t.Context(), self); err == nil || !strings.Contains(err.Error(), "go -C tools build") {
		t.Errorf("no program: %v", err)
	}
	for _, at := range []string{elsewhere, dir} { // the path, then beside, which is preferred
		want := filepath.Join(at, benchProgram)
		if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", elsewhere)
		if got, remove, err := findBench(t.Context(), self); err != nil || got != want || remove() != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	t.Setenv("PATH", "") // no Go to build it with: the sources are found all the same
	sources := filepath.Join(elsewhere, "tools", "bench")
	if err := os.MkdirAll(sources, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sources, "tpchgen.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, benchProgram)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := findBench(t.Context(), self); err == nil || !strings.Contains(err.Error(), "building "+benchProgram) {
		t.Errorf("sources and no Go: %v", err)
	}
}
