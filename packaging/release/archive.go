package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// prepare puts texts beside the program.
func (r *release) prepare(b built) error {
	for _, name := range []string{"LICENSE", "CHANGELOG.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(b.stage, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pages puts completion and manual pages beside the program; the host's program writes them.
func (r *release) pages(host, b built) error {
	dir := filepath.Join(b.stage, "completion")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "tributary.bash", "zsh": "_tributary", "fish": "tributary.fish"} {
		script, err := exec.Command(host.program, "completion", shell).Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), script, 0o644)
		}
		if err != nil {
			return err
		}
	}
	man := filepath.Join(b.stage, "man")
	if err := exec.Command(host.program, "man", "--dir", man).Run(); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(text)
		if err := errors.Join(err, z.Close(), os.WriteFile(page+".gz", packed.Bytes(), 0o644), os.Remove(page)); err != nil {
			return err
		}
	}
	// A package made again from the same sources has the same times.
	return filepath.WalkDir(b.stage, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, r.when, r.when))
	})
}

// archive packs the prepared files, for Windows as it can unpack them by itself.
func (r *release) archive(b built) error {
	name := fmt.Sprintf("tributary_%s_%s_%s", r.version, b.os, b.arch)
	var out bytes.Buffer
	if b.os == "windows" {
		if err := zipOf(&out, os.DirFS(b.stage), name, r.when); err != nil {
			return err
		}
		return r.write(name+".zip", out.Bytes(), 0o644)
	}
	z := gzip.NewWriter(&out)
	err := tarOf(z, os.DirFS(b.stage), name, r.when)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	return r.write(name+".tar.gz", out.Bytes(), 0o644)
}

// chart packs the Helm chart, with this release's version.
func (r *release) chart() error {
	dir := filepath.Join(r.dist, ".build", "chart")
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS("helm/tributary"))); err != nil {
		return err
	}
	about := filepath.Join(dir, "Chart.yaml")
	text, err := os.ReadFile(about)
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^(version|appVersion): .*$`).ReplaceAll(text, []byte(`$1: "`+r.version+`"`))
	if err := os.WriteFile(about, text, 0o644); err != nil {
		return err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	err = tarOf(z, os.DirFS(dir), "tributary", r.when)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("tributary-chart-%s.tgz", r.version), out.Bytes(), 0o644)
}

// eachFile calls f with the files of a tree in the order of their names.
func eachFile(tree fs.FS, f func(path string, text []byte) error) error {
	return fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		return f(path, text)
	})
}

// tarOf writes the files of a tree below a prefix.
func tarOf(to io.Writer, tree fs.FS, prefix string, when time.Time) error {
	w := tar.NewWriter(to)
	err := eachFile(tree, func(path string, text []byte) error {
		mode := int64(0o644)
		if filepath.Base(path) == "tributary" {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(prefix+"/"+path, "/"), Mode: mode, Size: int64(len(text)), ModTime: when, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := w.Write(text)
		return err
	})
	return errors.Join(err, w.Close())
}

// zipOf writes the same as a zip.
func zipOf(to io.Writer, tree fs.FS, prefix string, when time.Time) error {
	w := zip.NewWriter(to)
	err := eachFile(tree, func(path string, text []byte) error {
		f, err := w.CreateHeader(&zip.FileHeader{Name: prefix + "/" + path, Method: zip.Deflate, Modified: when})
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return err
	})
	return errors.Join(err, w.Close())
}

// pack makes a package for a distribution's package manager.
func (r *release) pack(b built, format string) error {
	text, err := os.ReadFile("nfpm.yaml")
	if err != nil {
		return err
	}
	set := map[string]string{"ARCH": b.arch, "VERSION": r.version, "STAGE": b.stage, "FILES": "files"}
	conf, err := nfpm.Parse(strings.NewReader(os.Expand(string(text), func(name string) string { return set[name] })))
	if err != nil {
		return err
	}
	info, err := conf.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	info.MTime = r.when
	p, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info.Target = p.ConventionalFileName(info)
	var out bytes.Buffer
	if err := p.Package(info, &out); err != nil {
		return err
	}
	return r.write(info.Target, out.Bytes(), 0o644)
}
