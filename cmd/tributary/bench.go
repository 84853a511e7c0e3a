package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// benchProgram is the program of the benchmarks. Its sources are the module tools, so that what it needs, dbgen
// above all, is no part of the database.
const benchProgram = "tributary-bench"

// benchmark runs the benchmarks with this program as the node that they start.
func benchmark(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, remove, err := findBench(ctx, self)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its node
	cmd.Env = append(os.Environ(), "TRIBUTARY_PROGRAM="+self)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = errors.Join(cmd.Run(), remove())
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return errors.New("the benchmark failed") // it has said why
	}
	return err
}

// findBench returns the benchmarks' program: the one beside this program, or in the path; or, in a clone of the
// repository, one that is built from the sources and removed afterwards.
func findBench(ctx context.Context, self string) (program string, remove func() error, err error) {
	none := func() error { return nil }
	beside := filepath.Join(filepath.Dir(self), benchProgram)
	if _, err := os.Stat(beside); err == nil {
		return beside, none, nil
	}
	if found, err := exec.LookPath(benchProgram); err == nil {
		return found, none, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	for _, dir := range []string{here, filepath.Dir(self)} {
		for ; ; dir = filepath.Dir(dir) {
			sources := filepath.Join(dir, "tools")
			if _, err := os.Stat(filepath.Join(sources, "bench", "tpchgen.go")); err == nil {
				return buildBench(ctx, sources)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", nil, fmt.Errorf("%s is neither beside this program nor in the path; in a clone of the repository, go -C tools build -o DIRECTORY/%[1]s ./bench makes it", benchProgram)
}

func buildBench(ctx context.Context, sources string) (program string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "tributary-bench-")
	if err != nil {
		return "", nil, err
	}
	program, remove = filepath.Join(dir, benchProgram), func() error { return os.RemoveAll(dir) }
	build := exec.CommandContext(ctx, "go", "-C", sources, "build", "-o", program, "./bench")
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("building %s: %w: %s", benchProgram, err, out), remove())
	}
	return program, remove, nil
}
