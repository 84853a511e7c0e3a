package repl

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Bucket is the cluster's storage: it has the files of which catalog.Bucket is a holder.
type Bucket interface {
	// Get opens a file. recv returns its bytes in blocks, which are valid until the next call, and io.EOF at the end; done
	// ends the reading.
	Get(ctx context.Context, f *catalog.Segment) (recv func() ([]byte, error), done func(), err error)
}

// stored is what a node does with the cluster's storage.
type stored struct {
	bucket Bucket
	files  *store.Cache
	limit  int64         // Options.Cache
	short  func() bool   // the node has little room
	pause  time.Duration // after it was found that not enough can go
	state  func() *catalog.State
	log    *slog.Logger

	fetches, bytes, evicted atomic.Int64

	trimming sync.Mutex
	stuck    time.Time // when it was found last that not enough can go
}

// give has take receive a file from the storage.
func (s *stored) give(ctx context.Context, f *catalog.Segment, take func(recv func() ([]byte, error)) error) error {
	recv, done, err := s.bucket.Get(ctx, f)
	if err != nil {
		return err
	}
	defer done()
	s.fetches.Add(1)
	return take(func() ([]byte, error) {
		b, err := recv()
		s.bytes.Add(int64(len(b)))
		return b, err
	})
}

// slack is the share of the cache that is made free at once, so that not every file that comes has one go.
const slack = 16

// tight reports whether statements should give files back as they read: they have most of what the node is to have, or there is little
// room.
func (s *stored) tight(inUse int64) bool {
	return s.limit > 0 && inUse > s.limit/2 || s.short()
}

// trim drops files that are in the storage too, where the node has more than it is to have, or little room. It drops none of a
// cluster that has lost its storage: who has it now removes there what it does not need itself.
func (s *stored) trim() {
	state := s.state()
	if catalog.Storage(state) == "" || catalog.TakenOver(state) != nil || !s.trimming.TryLock() {
		return
	}
	defer s.trimming.Unlock()
	limit, held := s.limit, s.files.Held()
	if s.short() {
		limit = max(held-held/slack, 1)
	}
	if limit <= 0 || held <= limit || time.Since(s.stuck) < s.pause && !s.files.Passed() {
		return
	}
	may := map[catalog.SegmentID]struct{}{}
	note := func(g *catalog.Segment) {
		if g != nil && g.InBucket() {
			may[g.ID] = struct{}{}
		}
	}
	for g := range catalog.FilesOf(state) {
		note(g)
	}
	for _, g := range state.Graves() {
		note(g.File)
	}
	n, err := s.files.Evict(limit-limit/slack, func(id catalog.SegmentID) bool { _, ok := may[id]; return ok })
	if err != nil {
		s.log.Warn("files that are in the storage cannot be dropped", "err", err)
	}
	s.evicted.Add(int64(n))
	if s.files.Held() > limit { // the rest is in use, or not in the storage yet
		s.stuck = time.Now()
	}
}

// dropped reports whether an error says only that a file is not there.
func dropped(err error) bool {
	var bad *store.CorruptError
	return errors.As(err, &bad) && bad.Missing
}
