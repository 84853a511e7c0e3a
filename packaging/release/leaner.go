package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

const arrow = "github.com/apache/arrow/go/v15"

// without are files of arrow of which the library itself has another variant, for old versions of Go or for
// TinyGo, that brings less with it: the compute kernels, 12 MB of the program that only the writer of dictionary
// columns of Parquet files needs, which is not called; and an encoder of JSON that is a megabyte, though
// Tributary has none of its values written as JSON.
var without = []struct{ file, by string }{
	{"parquet/pqarrow/encode_dict_compute.go", "parquet/pqarrow/encode_dict_nocompute.go"},
	{"internal/json/json.go", "internal/json/json_tinygo.go"},
}

var constraint = regexp.MustCompile(`(?m)^//(go:build| \+build) .*$`)

// leaner makes a go.mod in which arrow is a copy with the lesser variants, and returns its path.
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
	for _, w := range without {
		file, by := filepath.Join(to, "arrow", w.file), filepath.Join(to, "arrow", w.by)
		text, err := os.ReadFile(by)
		if err != nil {
			return "", err
		}
		text = constraint.ReplaceAll(text, nil)
		if err := errors.Join(os.Remove(file), os.Chmod(by, 0o644), os.WriteFile(by, text, 0o644)); err != nil {
			return "", err
		}
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
