package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made is a release in a temporary directory of a program that says its name.
func made(t *testing.T) (*release, built) {
	t.Helper()
	r := &release{root: "../..", dist: t.TempDir(), version: "1.2.3", commit: "abc", when: time.Unix(1e9, 0).UTC()}
	stage := filepath.Join(r.dist, ".build", "stage")
	if err := os.MkdirAll(stage, 0o755); err != nil {
		t.Fatal(err)
	}
	b := built{os: "linux", arch: "arm64", stage: stage, program: filepath.Join(stage, "tributary")}
	script := "#!/bin/sh\ncase $1 in\nversion | completion) echo tributary 1.2.3 ;;\nman) mkdir -p $3 && echo .TH >$3/tributary.1 ;;\nesac\n"
	if err := os.WriteFile(b.program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir("..")
	r.root = ".."
	return r, b
}

// contents returns the modes of a tar's files, and what the files hold.
func contents(t *testing.T, in io.Reader) (modes map[string]int64, texts map[string]string) {
	t.Helper()
	modes, texts = map[string]int64{}, map[string]string{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return modes, texts
		}
		text, rerr := io.ReadAll(r)
		if err := errors.Join(err, rerr); err != nil {
			t.Fatal(err)
		}
		modes[h.Name], texts[h.Name] = h.Mode, string(text)
	}
}

// TestImage: the image has one index of valid images, is run by a user without rights, and is the same when made again.
func TestImage(t *testing.T) {
	r, b := made(t)
	r.images = []built{b, {os: "linux", arch: "amd64", program: b.program}}
	if err := r.image(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(r.dist, "tributary_1.2.3_oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.image(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(r.dist, "tributary_1.2.3_oci.tar")); err != nil || !bytes.Equal(first, again) {
		t.Errorf("made again it differs: %v", err)
	}
	dir := t.TempDir()
	_, texts := contents(t, bytes.NewReader(first))
	for name, text := range texts {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Error(err)
	}
	m, err := top.IndexManifest()
	if err != nil || len(m.Manifests) != 1 || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("%v %v", m, err)
	}
	index, err := top.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = index.IndexManifest(); err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%v %v", m, err)
	}
	for _, d := range m.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		check(t, img, d.Platform.Architecture)
	}
}

func check(t *testing.T, img v1.Image, arch string) {
	t.Helper()
	conf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := conf.Config; conf.Architecture != arch || c.User != "65532" || c.Entrypoint[0] != "/usr/bin/tributary" || !slices.Contains(c.Env, "TRIBUTARY_DATA=/var/lib/tributary") {
		t.Errorf("%s: %+v", arch, conf)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, l := range layers {
		in, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		modes, _ := contents(t, in)
		maps.Copy(all, modes)
	}
	if all["usr/bin/tributary"] != 0o755 || all["var/lib/tributary/"] != 0o700 || all["etc/passwd"] != 0o644 {
		t.Errorf("%v", all)
	}
}

// TestPackages: the archive, packages and chart have their files; the installer takes the archive, and none of another sum.
func TestPackages(t *testing.T) {
	r, b := made(t)
	b.os, b.arch = host(t)
	if err := r.one(b, b); err != nil && !strings.Contains(err.Error(), "build info") { // a script has no list of modules
		t.Fatal(err)
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(b, format); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.files, "tributary_1.2.3_"+b.arch+".deb") || len(r.files) != 5 {
		t.Errorf("%q", r.files)
	}
	f, err := os.Open(filepath.Join(r.dist, "tributary-chart-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, texts := contents(t, z); !strings.Contains(texts["tributary/Chart.yaml"], `appVersion: "1.2.3"`) {
		t.Errorf("%q", texts["tributary/Chart.yaml"])
	}
	to := t.TempDir()
	none := filepath.Join(to, "none")
	mirror := httptest.NewServer(http.FileServer(http.Dir(r.dist)))
	defer mirror.Close()
	run := func(from, prefix string) (string, error) {
		c := exec.Command("sh", filepath.Join(r.dist, "install.sh"))
		c.Env = append(os.Environ(), "FROM="+from, "PREFIX="+prefix)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, from := range []string{r.dist, mirror.URL} {
		if out, err := run(from, to); err != nil || !strings.Contains(out, "tributary 1.2.3") {
			t.Errorf("from %s: %v\n%s", from, err, out)
		}
	}
	if out, err := run("http://mirror.invalid", none); err == nil || !strings.Contains(out, "not https") {
		t.Errorf("http: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(r.dist, "tributary_1.2.3_"+b.os+"_"+b.arch+".tar.gz"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := run(r.dist, none)
	if _, there := os.Stat(none); err == nil || !strings.Contains(out, "nothing was installed") || there == nil {
		t.Errorf("another sum: %v\n%s", err, out)
	}
}

// TestWindows: the client for Windows is in a zip, without pages of the node.
func TestWindows(t *testing.T) {
	r, b := made(t)
	b.os, b.arch = "windows", "amd64"
	if err := r.one(b, b); err != nil && !strings.Contains(err.Error(), "build info") {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(filepath.Join(r.dist, "tributary_1.2.3_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimPrefix(f.Name, "tributary_1.2.3_windows_amd64/"))
	}
	if !slices.Equal(names, []string{"CHANGELOG.md", "LICENSE", "README.md", "tributary"}) {
		t.Errorf("%q", names)
	}
}

// host is the platform as the installer sees it.
func host(t *testing.T) (goos, arch string) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOOS", "GOARCH").Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(out))
	return words[0], words[1]
}
