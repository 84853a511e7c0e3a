package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Sizes of an upload's parts: of the first thousand, and of the others, as there may be ten thousand. An object may
// have some 290 GiB.
const (
	smallPart  = 8 << 20
	largePart  = 32 << 20
	smallParts = 1000
	mostParts  = 10_000
)

// writer uploads an object: at once where it is small, else in parts, of which the store makes the object at the end.
type writer struct {
	b      *bucket
	ctx    context.Context
	key    string
	charge Charge
	held   int64
	buf    []byte
	upload string // id, "" while there is none
	parts  []minio.CompletePart
	size   int64
	failed error
	done   bool
}

// Create implements Store.
func (b *bucket) Create(ctx context.Context, uri string, charge Charge) (Writer, error) {
	key, err := b.key(uri)
	if err != nil {
		return nil, err
	}
	if Pattern(key) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%q is a pattern: an object cannot be written by it", uri)
	}
	return &writer{b: b, ctx: ctx, key: key, charge: charge}, nil
}

// room makes room for some bytes of a part.
func (w *writer) room(n, part int) error {
	want := min(part, max(64<<10, 2*(len(w.buf)+n)))
	if cap(w.buf) >= min(part, len(w.buf)+n) {
		return nil
	}
	if w.charge != nil {
		if err := w.charge(int64(want)); err != nil {
			return err
		}
	}
	w.buf = append(make([]byte, 0, want), w.buf...)
	w.free(w.held)
	w.held = int64(want)
	return nil
}

func (w *writer) free(n int64) {
	if w.charge != nil && n > 0 {
		_ = w.charge(-n)
	}
}

func (w *writer) Write(p []byte) (n int, err error) {
	for n < len(p) && w.failed == nil {
		part := smallPart
		if len(w.parts) >= smallParts {
			part = largePart
		}
		if w.failed = w.room(len(p)-n, part); w.failed != nil {
			break
		}
		k := min(len(p)-n, part-len(w.buf))
		w.buf = append(w.buf, p[n:n+k]...)
		if n += k; len(w.buf) == part {
			w.failed = w.send()
		}
	}
	return n, w.failed
}

// send uploads a part.
func (w *writer) send() (err error) {
	if w.upload == "" {
		if w.upload, err = w.b.core.NewMultipartUpload(w.ctx, w.b.name, w.key, minio.PutObjectOptions{}); err != nil {
			return w.error(err)
		}
	}
	number := len(w.parts) + 1
	if number > mostParts {
		return pgerr.New(pgerr.ProgramLimitExceeded, "%q would be larger than an object may be", w.b.uri(w.key))
	}
	p, err := w.b.core.PutObjectPart(w.ctx, w.b.name, w.key, w.upload, number, bytes.NewReader(w.buf), int64(len(w.buf)), minio.PutObjectPartOptions{Sha256Hex: sum(w.buf), DisableContentSha256: true})
	if err != nil {
		return w.error(err)
	}
	w.parts = append(w.parts, minio.CompletePart{PartNumber: number, ETag: p.ETag})
	w.size += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// whole has a body's hash sent before it, and not in pieces with it, which some stores do not take.
func whole() minio.PutObjectOptions { return minio.PutObjectOptions{DisableContentSha256: true} }

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func (w *writer) error(err error) error {
	return w.b.error(w.ctx, err, "could not write %q", w.b.uri(w.key))
}

// Commit implements Writer.
func (w *writer) Commit() error {
	defer w.Abort()
	if w.failed != nil {
		return w.failed
	}
	if w.upload == "" {
		_, err := w.b.core.PutObject(w.ctx, w.b.name, w.key, bytes.NewReader(w.buf), int64(len(w.buf)), "", sum(w.buf), whole())
		if err != nil {
			return w.error(err)
		}
		w.done = true
		return nil
	}
	if len(w.buf) > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	_, err := w.b.core.CompleteMultipartUpload(w.ctx, w.b.name, w.key, w.upload, w.parts, minio.PutObjectOptions{})
	if err != nil && !w.made(err) {
		return w.error(err)
	}
	w.done = true
	return nil
}

// made reports whether an error says only that an answer was lost: the upload is no more, and the object is there.
func (w *writer) made(err error) bool {
	if minio.ToErrorResponse(err).Code != "NoSuchUpload" {
		return false
	}
	o, err := w.b.core.StatObject(w.ctx, w.b.name, w.key, minio.StatObjectOptions{})
	return err == nil && o.Size == w.size && strings.HasSuffix(o.ETag, "-"+strconv.Itoa(len(w.parts)))
}

// abortTime bounds Abort, which a cancelled statement must not cut off: the parts of an upload that nobody ends are
// paid for.
const abortTime = 20 * time.Second

// Abort implements Writer.
func (w *writer) Abort() {
	if w.upload != "" && !w.done {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
		defer cancel()
		_ = w.b.core.AbortMultipartUpload(ctx, w.b.name, w.key, w.upload)
	}
	if w.failed == nil {
		w.failed = pgerr.Internal("%q is written no more", w.b.uri(w.key))
	}
	w.upload, w.buf = "", nil
	w.free(w.held)
	w.held = 0
}
