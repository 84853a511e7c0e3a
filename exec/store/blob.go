package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// PutBlob keeps what write writes, which is no table's rows, such as a model or a checkpoint: up to
// inline bytes in the segment it returns, more as a file like a segment's, which is replicated,
// fetched, repaired and swept alike. Of the segment only ID, Inline, Bytes, SHA256 and Nodes are
// set.
func (s *Store) PutBlob(inline int, write func(io.Writer) error) (*catalog.Segment, error) {
	w := &blobWriter{store: s, inline: inline}
	if err := write(w); err != nil {
		w.abort()
		return nil, err
	}
	if w.file == nil {
		return &catalog.Segment{Inline: w.head, Bytes: int64(len(w.head)), SHA256: sha256.Sum256(w.head)}, nil
	}
	seg := &catalog.Segment{ID: w.file.id}
	if err := w.file.publish(seg); err != nil {
		w.abort()
		return nil, err
	}
	return seg, nil
}

// blobWriter makes a file of what outgrows its head.
type blobWriter struct {
	store  *Store
	inline int
	head   []byte
	file   *segmentFile
}

func (w *blobWriter) Write(b []byte) (int, error) {
	if w.file == nil && len(w.head)+len(b) <= w.inline {
		w.head = append(w.head, b...)
		return len(b), nil
	}
	if w.file == nil {
		id := NewID()
		f, err := w.store.createAs(id, id, sha256.New())
		if err != nil {
			return 0, err
		}
		w.file = f
		if err := f.write(w.head); err != nil {
			return 0, err
		}
	}
	if err := w.file.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w *blobWriter) abort() {
	if w.file != nil {
		w.file.abort()
	}
}

// ReadBlob calls use with a blob's bytes, once they are verified: where this node has no file or a
// damaged one it fetches another node's. The bytes are valid until use returns and must not be
// changed. A file is mapped, so that its bytes take none of the node's memory.
func (s *Store) ReadBlob(ctx context.Context, ref *catalog.Segment, use func([]byte) error) error {
	if ref.Inline != nil {
		if sha256.Sum256(ref.Inline) != ref.SHA256 && ref.SHA256 != [32]byte{} {
			return pgerr.New(pgerr.DataCorrupted, "invalid data in the catalog: it has another hash")
		}
		return use(ref.Inline)
	}
	g, err := s.openBlob(ctx, ref)
	if err != nil {
		return err
	}
	defer g.unmap()
	if err := batch.Guard(func() error { return use(g.data) }); err != nil {
		return err
	}
	return s.intact(g)
}

// Blob is a blob that stays open. Its methods may be called from any goroutine.
type Blob struct {
	s      *Store
	inline []byte
	file   *segment     // nil: inline
	mu     sync.RWMutex // held for writing while the file is closed
	closed bool
}

// OpenBlob is ReadBlob for bytes that are read now and then: they are verified once.
func OpenBlob(ctx context.Context, s *Store, ref *catalog.Segment) (*Blob, error) {
	b := &Blob{s: s, inline: ref.Inline}
	if ref.Inline != nil {
		return b, s.ReadBlob(ctx, ref, func([]byte) error { return nil })
	}
	var err error
	b.file, err = s.openBlob(ctx, ref)
	return b, err
}

// Read calls use with the bytes, which are valid until it returns and must not be changed.
func (b *Blob) Read(use func([]byte) error) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	switch {
	case b.closed:
		return pgerr.Internal("a blob is read that was closed")
	case b.file == nil:
		return use(b.inline)
	}
	if err := batch.Guard(func() error { return use(b.file.data) }); err != nil {
		return err
	}
	return b.s.intact(b.file)
}

// Close waits for the reads under way and frees the blob. It may be called twice.
func (b *Blob) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != nil && !b.closed {
		b.file.unmap()
	}
	b.closed = true
}

// openBlob maps a blob's file and verifies it.
func (s *Store) openBlob(ctx context.Context, ref *catalog.Segment) (*segment, error) {
	return s.repaired(ctx, ref, s.mapBlob)
}

// mapBlob is openBlob for a file of this node.
func (s *Store) mapBlob(ctx context.Context, ref *catalog.Segment) (_ *segment, err error) {
	path := s.path(ref.ID)
	st, err := s.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError{Segment: ref.ID, Missing: true, ref: ref}
	}
	if err != nil {
		return nil, ioError(err, "stat", path)
	}
	m, err := s.fs.Map(path)
	if errors.Is(err, fs.ErrNotExist) { // it was evicted meanwhile
		return nil, &CorruptError{Segment: ref.ID, Missing: true, ref: ref}
	}
	if err != nil {
		return nil, ioError(err, "map", path)
	}
	data := m.Data
	g := &segment{id: ref.ID, ref: ref, path: path, stamp: stampOf(st), data: data, stat: m.Stat}
	forget := batch.Mapped(data, func(off int64) error { return g.corrupt(fmt.Sprintf("could not read byte %d of the file", off)) })
	g.unmap = func() { forget(); m.Unmap() }
	err = batch.Guard(func() error {
		sum := SumOf(ref)
		for left := data; len(left) > 0 && ctx.Err() == nil; {
			n := min(len(left), 4<<20)
			sum.Write(left[:n])
			left = left[n:]
		}
		if ctx.Err() == nil && !sum.Good() {
			return g.corrupt("the file has another hash")
		}
		return ctx.Err()
	})
	if err != nil {
		g.unmap()
		return nil, err
	}
	return g, nil
}
