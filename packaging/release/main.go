// Command release builds what is given to those who install Tributary: archives, packages, an image, their
// checksums and a list of what is in them. It needs Go and the modules of this folder and the product's alone.
//
//	go -C packaging run ./release [--only linux/amd64] [--version 0.2.0]
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// platforms are those that are released; for Windows the client alone.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// release is what is being made.
type release struct {
	root, dist string // the repository, and the directory for what is made
	version    string
	commit     string
	when       time.Time // of the commit: the same sources make the same bytes
	files      []string  // made, for the checksums
	images     []built
}

// built is a program for one platform, with what goes beside it.
type built struct {
	os, arch string
	program  string
	stage    string
}

func main() {
	only := flag.String("only", "", "one platform, such as linux/amd64 (default: all of "+strings.Join(platforms, ", ")+")")
	version := flag.String("version", "", "the version (default: that in cmd/tributary/main.go)")
	flag.Parse()
	if err := run(*only, *version); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(only, version string) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	r := &release{root: root, dist: filepath.Join(root, "dist"), version: version, commit: "unknown", when: time.Unix(0, 0)}
	if r.version == "" {
		source, err := os.ReadFile(filepath.Join(root, "cmd/tributary/main.go"))
		if err != nil {
			return err
		}
		found := regexp.MustCompile(`version = "([^"]+)"`).FindSubmatch(source)
		if found == nil {
			return errors.New("cmd/tributary/main.go says no version")
		}
		r.version = string(found[1])
	}
	if out, err := r.output("git", "log", "-1", "--format=%H %cI"); err == nil {
		hash, at, _ := strings.Cut(out, " ")
		if r.commit = hash; err == nil {
			r.when, err = time.Parse(time.RFC3339, at)
		}
		if err != nil {
			return err
		}
		r.when = r.when.UTC()
	}
	todo := platforms
	if only != "" {
		todo = []string{only}
	}
	// What an earlier run left is not to be taken for what this one made; .build is the copy of a module, which the build cache knows.
	old, err := filepath.Glob(filepath.Join(r.dist, "*"))
	for _, path := range old {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return err
	}
	mod, err := r.leaner()
	if err != nil {
		return err
	}
	host, err := r.build(runtime.GOOS+"/"+runtime.GOARCH, mod)
	if err != nil {
		return err
	}
	for _, p := range todo {
		b := host
		if p != host.os+"/"+host.arch {
			if b, err = r.build(p, mod); err != nil {
				return err
			}
		}
		if err := r.one(host, b); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if len(r.images) > 0 {
		if err := r.image(); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	return r.finish()
}

// one makes all that there is for one platform.
func (r *release) one(host, b built) error {
	if err := r.prepare(b); err != nil {
		return err
	}
	if b.os != "windows" {
		if err := r.pages(host, b); err != nil {
			return err
		}
	}
	if err := r.archive(b); err != nil {
		return err
	}
	if err := r.bom(b); err != nil {
		return err
	}
	if b.os != "linux" {
		return nil
	}
	r.images = append(r.images, b)
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(b, format); err != nil {
			return err
		}
	}
	return nil
}

// build compiles the program, without what only a debugger reads.
func (r *release) build(platform, mod string) (built, error) {
	goos, arch, ok := strings.Cut(platform, "/")
	if !ok || !slices.Contains(platforms, platform) {
		return built{}, fmt.Errorf("%q is none of %s", platform, strings.Join(platforms, ", "))
	}
	stage := filepath.Join(r.dist, ".build", "stage", goos+"_"+arch)
	if err := errors.Join(os.RemoveAll(stage), os.MkdirAll(stage, 0o755)); err != nil {
		return built{}, err
	}
	b := built{os: goos, arch: arch, program: filepath.Join(stage, "tributary"), stage: stage}
	source := "./cmd/tributary"
	if goos == "windows" {
		source, b.program = "./cmd/client", b.program+".exe"
	}
	set := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.when.Format(time.RFC3339))
	// grpcnotrace: grpc's page of traces needs templates, and templates need every method of every type.
	cmd := exec.Command("go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-modfile="+mod, "-tags=grpcnotrace", "-ldflags="+set, "-o", b.program, source)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
	return b, cmd.Run()
}

// finish writes the checksums, and the formula that has them.
func (r *release) finish() error {
	script, err := os.ReadFile("files/install.sh")
	script = []byte(strings.ReplaceAll(string(script), "VERSION:-0.2.0", "VERSION:-"+r.version))
	if err != nil {
		return err
	}
	if err := r.write("install.sh", script, 0o755); err != nil {
		return err
	}
	if err := r.chart(); err != nil {
		return err
	}
	slices.Sort(r.files)
	var sums strings.Builder
	of := map[string]string{}
	for _, name := range r.files {
		sum, size, err := hash(filepath.Join(r.dist, name))
		if err != nil {
			return err
		}
		of[name] = sum
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
		fmt.Printf("%8.1f MB  %s\n", float64(size)/1e6, name)
	}
	if err := os.WriteFile(filepath.Join(r.dist, "checksums.txt"), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	formula, err := os.ReadFile("files/tributary.rb")
	if err != nil {
		return err
	}
	complete := true
	text := os.Expand(string(formula), func(name string) string {
		if name == "VERSION" {
			return r.version
		}
		goos, arch, _ := strings.Cut(strings.ToLower(name), "_")
		sum := of[fmt.Sprintf("tributary_%s_%s_%s.tar.gz", r.version, goos, arch)]
		complete = complete && sum != ""
		return sum
	})
	if !complete { // a build of one platform
		return nil
	}
	return os.WriteFile(filepath.Join(r.dist, "tributary.rb"), []byte(text), 0o644)
}

// write adds a file to the release.
func (r *release) write(name string, text []byte, mode os.FileMode) error {
	r.files = append(r.files, name)
	return os.WriteFile(filepath.Join(r.dist, name), text, mode)
}

func (r *release) output(command string, args ...string) (string, error) {
	cmd := exec.Command(command, args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func hash(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
