package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

const arrow = "github.com/apache/arrow/go/v15"

// leaner makes a go.mod in which arrow is a copy without the compute kernels, and returns its path. They
// are 12 MB of the program, and only the writer of dictionary columns of Parquet files needs them, which
// is not called: the library itself has the variant without them, for old versions of Go.
func (r *release) leaner() (string, error) {
	dir, err := r.output("go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", arrow)
	if err == nil && dir == "" {
		_, err = r.output("go", "mod", "download", arrow)
		if err == nil {
			dir, err = r.output("go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", arrow)
		}
	}
	if err != nil {
		return "", err
	}
	to := filepath.Join(r.dist, ".build")
	if err := errors.Join(os.RemoveAll(filepath.Join(to, "arrow")), os.MkdirAll(to, 0o755)); err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(to, "arrow"), os.DirFS(dir)); err != nil {
		return "", err
	}
	pq := filepath.Join(to, "arrow", "parquet", "pqarrow")
	without, err := os.ReadFile(filepath.Join(pq, "encode_dict_nocompute.go"))
	if err != nil {
		return "", err
	}
	without = regexp.MustCompile(`(?m)^//go:build.*$`).ReplaceAll(without, nil)
	err = os.Remove(filepath.Join(pq, "encode_dict_compute.go"))
	for _, name := range []string{"parquet/pqarrow/encode_dict_nocompute.go"} {
		path := filepath.Join(to, "arrow", name)
		err = errors.Join(err, os.Chmod(path, 0o644), os.WriteFile(path, without, 0o644))
	}
	if err != nil {
		return "", err
	}
	mod := filepath.Join(to, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	edit := exec.Command("go", "mod", "edit", "-replace="+arrow+"=./dist/.build/arrow", mod)
	edit.Dir, edit.Stderr = r.root, os.Stderr
	return mod, edit.Run()
}
