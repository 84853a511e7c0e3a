package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed assets
var embedded embed.FS

// file is an asset as it is sent.
type file struct {
	plain, packed []byte
	tag           string
}

// files keeps the assets that were asked for, packed once. There are as many as are embedded.
var files sync.Map // path → *file

// load finds an asset. Large ones are embedded packed, as NAME.gz.
func load(name string) (*file, bool) {
	if f, ok := files.Load(name); ok {
		return f.(*file), true
	}
	f := &file{}
	var err error
	if f.plain, err = embedded.ReadFile(name); err == nil {
		f.packed = pack(f.plain)
	} else if f.packed, err = embedded.ReadFile(name + ".gz"); err == nil {
		f.plain, err = unpack(f.packed)
	}
	if err != nil {
		return nil, false
	}
	sum := sha256.Sum256(f.plain)
	f.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
	files.Store(name, f)
	return f, true
}

func pack(b []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is a valid one
	_, _ = z.Write(b)                                          // into memory
	_ = z.Close()
	return packed.Bytes()
}

func unpack(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// asset serves an embedded file. It may be kept by the browser, which asks each time whether it is
// still the same: after an upgrade of the node it is not.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	f, ok := load(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if path.Ext(name) == ".js" { // a registry of the system may say otherwise, and a module needs it
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	}
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	_, _ = w.Write(body)
}

// index serves the page, which is the same for all rooms. Nothing inline runs in it; the nonce is for the
// style sheets that the editor makes.
func (c *Console) index(w http.ResponseWriter, _ *http.Request) {
	f, ok := load("assets/index.html")
	if !ok {
		refuse(w, http.StatusNotFound, "this build has no console")
		return
	}
	nonce := random()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'nonce-"+nonce+"'; img-src 'self' data:; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	_, _ = w.Write(bytes.ReplaceAll(f.plain, []byte("{{nonce}}"), []byte(nonce)))
}
