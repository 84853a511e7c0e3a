package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who the node is in the image, as in distroless images.
const user = 65532

// image writes one image of all Linux platforms, as a tar in the OCI layout: `skopeo copy oci-archive:…`,
// `podman load` and `docker load` take it.
func (r *release) image() error {
	index := v1.ImageIndex(empty.Index)
	index = mutate.IndexMediaType(index, types.OCIImageIndex)
	for _, b := range r.images {
		img, err := r.imageOf(b)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}}})
	}
	dir := filepath.Join(r.dist, ".build", "image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := map[string]string{"org.opencontainers.image.ref.name": r.version}
	if err := path.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := tarOf(&out, os.DirFS(dir), "", r.when); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("tributary_%s_oci.tar", r.version), out.Bytes(), 0o644)
}

// imageOf is the image of one platform: the system's few files, then the program.
func (r *release) imageOf(b built) (v1.Image, error) {
	authorities, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	program, err := os.ReadFile(b.program)
	if err != nil {
		return nil, err
	}
	base := []entry{
		{name: "etc/", dir: true, mode: 0o755}, {name: "etc/ssl/", dir: true, mode: 0o755}, {name: "etc/ssl/certs/", dir: true, mode: 0o755},
		{name: "etc/passwd", text: []byte(fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/var/lib/tributary:/sbin/nologin\n", user, user)), mode: 0o644},
		{name: "etc/group", text: []byte(fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", user)), mode: 0o644},
		{name: "tmp/", dir: true, mode: 0o1777},
		{name: "var/", dir: true, mode: 0o755}, {name: "var/lib/", dir: true, mode: 0o755},
		{name: "var/lib/tributary/", dir: true, mode: 0o700, user: user},
	}
	if authorities != nil {
		base = append(base, entry{name: "etc/ssl/certs/ca-certificates.crt", text: authorities, mode: 0o644})
	}
	img := mutate.MediaType(v1.Image(empty.Image), types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	for _, files := range [][]entry{base, {{name: "usr/", dir: true, mode: 0o755}, {name: "usr/bin/", dir: true, mode: 0o755}, {name: "usr/bin/tributary", text: program, mode: 0o755}}} {
		l, err := r.layer(files)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: r.when}, CreatedBy: "release"}}); err != nil {
			return nil, err
		}
	}
	conf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	conf = conf.DeepCopy()
	conf.OS, conf.Architecture, conf.Created = b.os, b.arch, v1.Time{Time: r.when}
	conf.Config = v1.Config{
		User: fmt.Sprint(user), WorkingDir: "/var/lib/tributary", Entrypoint: []string{"/usr/bin/tributary"}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "TRIBUTARY_DATA=/var/lib/tributary"},
		ExposedPorts: map[string]struct{}{"5432/tcp": {}, "8080/tcp": {}, "7400/tcp": {}},
		Volumes:      map[string]struct{}{"/var/lib/tributary": {}}, StopSignal: "SIGTERM",
		Labels: map[string]string{"org.opencontainers.image.title": "tributary", "org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(img, conf)
}

// entry is a file or a directory of a layer.
type entry struct {
	name string
	dir  bool
	text []byte
	mode int64
	user int
}

func (r *release) layer(files []entry) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: r.when, Uid: f.user, Gid: f.user, Typeflag: tar.TypeReg}
		if f.dir {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return gzipped(out.Bytes())
}

// gzipped is a layer of a tar.
func gzipped(text []byte) (v1.Layer, error) {
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, tarball.WithMediaType(types.OCILayer))
}
