package store

import (
	"context"
	"errors"
	"hash"
	"io"
	"io/fs"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Incoming is a file being received from another node. Commit or Abort ends it.
type Incoming struct {
	f   *segmentFile
	sum FileSum
}

// Receive begins to receive ref's file, whose hash is known. When complete it replaces the present
// one, if any.
func (s *Store) Receive(ref *catalog.Segment) (*Incoming, error) {
	// The temporary file has a name of its own: two senders may race.
	sum := SumOf(ref)
	sf, err := s.createAs(NewID(), ref.ID, sum.Hash)
	if err != nil {
		return nil, err
	}
	return &Incoming{sf, sum}, nil
}

func (s *Store) createAs(temp, id catalog.SegmentID, sum hash.Hash) (*segmentFile, error) {
	if s.room != nil {
		if err := s.room(); err != nil {
			return nil, err
		}
	}
	path := s.tempPath(temp)
	f, err := s.fs.Create(path)
	if err != nil {
		return nil, ioError(err, "create", path)
	}
	return &segmentFile{store: s, id: id, temp: temp, f: f, sum: sum}, nil
}

// Write adds bytes.
func (in *Incoming) Write(b []byte) (int, error) {
	if err := in.f.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Commit checks the hash and installs the file, on stable storage.
func (in *Incoming) Commit() error {
	s := in.f.store
	if err := in.f.flush(); err != nil {
		in.f.abort()
		return err
	}
	if !in.sum.Good() {
		in.f.abort()
		return &CorruptError{Segment: in.f.id, What: "the file received has another hash"}
	}
	var seg catalog.Segment
	s.mu.Lock()
	_, bad := s.bad[in.f.id]
	s.judge(in.f.id)
	s.mu.Unlock()
	if bad {
		s.quarantine(in.f.id)
	}
	if err := in.f.publish(&seg); err != nil {
		in.f.abort()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anew(in.f.id)
	s.drop(in.f.id) // later opens map the new file
	if _, bad = s.bad[in.f.id]; bad {
		delete(s.bad, in.f.id)
		s.damage.repaired.Add(1)
	}
	return nil
}

// Abort discards what was received.
func (in *Incoming) Abort() { in.f.abort() }

// NewBlocks is the room of Send to who may keep the blocks.
func NewBlocks(size int) func() []byte { return func() []byte { return make([]byte, size) } }

// OneBlock is the room of Send to who keeps none: small enough to stay in a processor's cache.
func OneBlock() func() []byte {
	b := make([]byte, 256<<10)
	return func() []byte { return b }
}

// Send passes a file's bytes to send, in the blocks that room returns.
func (s *Store) Send(ctx context.Context, id catalog.SegmentID, room func() []byte, send func([]byte) error) error {
	f, err := s.fs.Open(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{Segment: id, Missing: true}
	}
	if err != nil {
		return ioError(err, "open", s.path(id))
	}
	defer f.Close()
	for b, err := range disk.Blocks(f, room) {
		if err != nil {
			return ioError(err, "read", s.path(id))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := send(b); err != nil {
			return err
		}
	}
	return nil
}

// Verify reads a whole file and compares its hash.
func (s *Store) Verify(ctx context.Context, ref *catalog.Segment) error {
	sum := SumOf(ref)
	if err := s.Send(ctx, ref.ID, OneBlock(), func(b []byte) error { sum.Write(b); return nil }); err != nil {
		return err
	}
	if !sum.Good() {
		return &CorruptError{Segment: ref.ID, What: "the file has another hash"}
	}
	return nil
}

func (s *Store) readFile(path string) ([]byte, error) {
	f, err := s.fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
