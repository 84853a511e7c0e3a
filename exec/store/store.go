package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store/hashindex"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	fileSuffix = ".seg"
	tempSuffix = ".tmp"
	// maxMaps bounds mapped files that nobody pins (Linux allows a process
	// 65,530 maps).
	maxMaps = 8192
	// maxInline bounds the decoded inline segments that are cached.
	maxInline = 8192
)

// Remote gets a segment's file from another replica and installs it in the
// store (Receive). Repair replaces one that is damaged.
type Remote interface {
	Fetch(ctx context.Context, s *catalog.Segment) error
	Repair(ctx context.Context, s *catalog.Segment) error
}

// Options of a Store.
type Options struct {
	Dir    string // made if it is not there
	Node   uint64 // this node's id, for Segment.Nodes
	Remote Remote // may be nil
	Now    func() time.Time
	FS     disk.FS // nil for the system's
	// Room returns an error while nothing may be added to the disk; a nil Room never does.
	Room func() error
	Pool *mem.Pool // pays for indexes; nil: nobody counts them
	// StatEvery is how long a mapped file counts as unchanged since it was checked; 0: it is checked
	// each time.
	StatEvery time.Duration
}

// Store is a node's segment files. Its methods may be called from any
// goroutine.
type Store struct {
	dir    string
	node   uint64
	remote Remote
	now    func() time.Time
	fs     disk.FS
	room   func() error
	every  time.Duration // Options.StatEvery
	damage damage
	Cache  Cache

	indexes hashindex.Budget
	marks   keyMarks

	mu     sync.Mutex
	open   map[catalog.SegmentID]*segment
	inline map[catalog.SegmentID]*segment
	seen   map[catalog.SegmentID]struct{}      // needed here when a sweep last looked
	missed map[catalog.SegmentID]miss          // not needed here, as a sweep found
	bad    map[catalog.SegmentID]struct{}      // found damaged, and not replaced yet
	mends  map[catalog.SegmentID]chan struct{} // being replaced; closed at the end
	closed bool
}

// Open makes the store of a directory and removes the remains of writes that a crash interrupted.
func Open(o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = disk.OS
	}
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, ioError(err, "create", o.Dir)
	}
	names, err := o.FS.ReadDir(o.Dir)
	if err != nil {
		return nil, ioError(err, "read", o.Dir)
	}
	for _, e := range names {
		if strings.HasSuffix(e.Name(), tempSuffix) {
			_ = o.FS.Remove(filepath.Join(o.Dir, e.Name()))
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{dir: o.Dir, node: o.Node, remote: o.Remote, now: o.Now, every: o.StatEvery, fs: o.FS, room: o.Room, open: map[catalog.SegmentID]*segment{},
		inline: map[catalog.SegmentID]*segment{}, seen: map[catalog.SegmentID]struct{}{}, missed: map[catalog.SegmentID]miss{},
		bad: map[catalog.SegmentID]struct{}{}, mends: map[catalog.SegmentID]chan struct{}{}}
	s.Cache.fs, s.Cache.dir = s.fs, s.dir
	s.Cache.fetch = func(ctx context.Context, ref *catalog.Segment) error { return s.remote.Fetch(ctx, ref) }
	s.Cache.used = func(id catalog.SegmentID) int64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if g := s.open[id]; g != nil {
			return g.looked.UnixNano()
		}
		return 0
	}
	s.Cache.remove = func(id catalog.SegmentID) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if g := s.open[id]; s.closed || s.Cache.isWanted(id) || g != nil && g.pins > 0 {
			return false
		}
		s.remove(id)
		return true
	}
	s.Cache.init()
	_, held := s.Usage()
	s.Cache.held.Store(held)
	if o.Pool != nil {
		s.indexes.Charge(o.Pool.LastingAccount("key indexes"))
		s.marks.acct = o.Pool.LastingAccount("key marks")
	}
	return s, nil
}

// SetRemote sets where to get files from; it is called before the first statement.
func (s *Store) SetRemote(r Remote) { s.remote = r }

// Close unmaps all files. All pins must be closed.
func (s *Store) Close() error {
	s.Cache.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var pinned bool
	for _, g := range s.open {
		if g.pins > 0 {
			pinned = true // a reader would crash on an unmapped page
			continue
		}
		g.unmap()
	}
	s.open, s.inline = nil, nil
	if pinned {
		return pgerr.Internal("store: closed with segments pinned")
	}
	return nil
}

func (s *Store) path(id catalog.SegmentID) string {
	return filepath.Join(s.dir, id.String()+fileSuffix)
}
func (s *Store) tempPath(id catalog.SegmentID) string {
	return filepath.Join(s.dir, id.String()+tempSuffix)
}

// Claim reports whether the node has the file, on stable storage as all are and not known to be
// damaged. If it has, sweeps begin anew to check whether it is needed: the caller is about to
// commit that it is.
func (s *Store) Claim(id catalog.SegmentID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anew(id)
	_, bad := s.bad[id]
	return !bad && s.Has(id)
}

// anew discards what sweeps found of a file.
func (s *Store) anew(id catalog.SegmentID) {
	delete(s.missed, id)
	delete(s.seen, id)
}

// Has reports whether the node has the file.
func (s *Store) Has(id catalog.SegmentID) bool {
	_, err := s.fs.Stat(s.path(id))
	return err == nil
}

// forget removes a file that no statement can be reading.
func (s *Store) forget(id catalog.SegmentID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(id)
}

// Discard removes segments that were written but never committed.
func (s *Store) Discard(ids ...catalog.SegmentID) {
	for _, id := range ids {
		s.forget(id)
	}
}

// remove removes a file from the directory. Existing maps of it stay.
func (s *Store) remove(id catalog.SegmentID) {
	s.retire(id)
	s.anew(id)
	delete(s.bad, id)
	st, err := s.fs.Stat(s.path(id))
	if s.fs.Remove(s.path(id)) == nil && err == nil {
		s.Cache.held.Add(-st.Size())
	}
}

// retire removes an open segment from the table of shared ones.
func (s *Store) retire(id catalog.SegmentID) {
	s.judge(id)
	s.drop(id)
}

// judge finds whether an open segment's file was written to, while its name is still that file's.
func (s *Store) judge(id catalog.SegmentID) {
	if g := s.open[id]; g != nil {
		_ = s.intact(g) // which marks it
	}
}

func (s *Store) drop(id catalog.SegmentID) {
	if g := s.open[id]; g != nil {
		delete(s.open, id)
		if g.dead.Store(true); g.pins == 0 {
			g.unmap()
		}
	}
}

// acquire opens a segment's file, or shares the one that is open, and pins it.
func (s *Store) acquire(ctx context.Context, ref *catalog.Segment) (*segment, error) {
	if ref.Inline != nil {
		return s.acquireInline(ref)
	}
	return s.repaired(ctx, ref, func(_ context.Context, ref *catalog.Segment) (*segment, error) { return s.acquireFile(ref) })
}

// mostGets is how often a file is got in vain: one that others get at the moment may have gone again before it was known that somebody
// waits for it, and then that it comes says nothing.
const mostGets = 8

// repaired opens a file, and once more if another node could repair it.
func (s *Store) repaired(ctx context.Context, ref *catalog.Segment, open func(context.Context, *catalog.Segment) (*segment, error)) (*segment, error) {
	stored := ref.InBucket()
	for tries := 0; ; tries++ {
		g, err := open(ctx, ref)
		if err == nil {
			if stored && tries == 0 {
				s.Cache.hits.Add(1)
			}
			return g, nil
		}
		var bad *CorruptError
		if !errors.As(err, &bad) || s.remote == nil || tries > 0 && !(stored && bad.Missing && tries < mostGets) {
			return nil, err
		}
		if bad.Missing {
			defer s.Cache.want(ref.ID)() // from the first time on
			err = s.fetch(ctx, ref)
		} else {
			err = s.mend(ctx, ref, bad)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *Store) acquireFile(ref *catalog.Segment) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, pgerr.New(pgerr.AdminShutdown, "the node is shutting down")
	}
	g := s.open[ref.ID]
	now := s.now()
	if g != nil && now.Sub(g.looked) < s.every && now.After(g.looked) {
		g.pin(&s.Cache, ref)
		return g, nil
	}
	st, err := s.fs.Stat(s.path(ref.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError{Segment: ref.ID, Missing: true}
	}
	if err != nil {
		return nil, ioError(err, "stat", s.path(ref.ID))
	}
	if g != nil && g.stamp != stampOf(st) {
		s.retire(ref.ID) // somebody wrote to it: nothing known of it is valid
		g = nil
	}
	if g == nil {
		// Mapping under the lock: it is a few system calls, and two threads that
		// want the same file get the same map.
		if g, err = s.openFile(ref, st); err != nil {
			return nil, err
		}
		if len(s.open) >= maxMaps {
			s.trim()
		}
		s.open[ref.ID] = g
	}
	g.looked = now
	g.pin(&s.Cache, ref)
	return g, nil
}

// pin adds a pin; the store is locked.
func (g *segment) pin(c *Cache, ref *catalog.Segment) {
	if g.pins++; g.pins == 1 && ref.InBucket() {
		g.uses = int64(len(g.data))
		c.inUse.Add(g.uses)
	}
}

// trim unmaps files that nobody pins, down to half the bound.
func (s *Store) trim() {
	for id, g := range s.open {
		if len(s.open) <= maxMaps/2 {
			return
		}
		if g.pins == 0 {
			delete(s.open, id)
			g.unmap()
		}
	}
}

func (s *Store) acquireInline(ref *catalog.Segment) (*segment, error) {
	s.mu.Lock()
	g := s.inline[ref.ID]
	s.mu.Unlock()
	if g != nil {
		return g, nil
	}
	g, err := openInline(ref)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inline != nil {
		if len(s.inline) >= maxInline {
			for _, g := range s.inline {
				s.dropIndexes(g)
			}
			clear(s.inline)
		}
		s.inline[ref.ID] = g
	}
	return g, nil
}

// release drops a pin.
func (s *Store) release(g *segment) {
	if g.data == nil {
		return // inline
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.pins--; g.pins > 0 {
		return
	}
	s.Cache.inUse.Add(-g.uses)
	if g.uses = 0; g.dead.Load() || s.closed {
		g.unmap()
	}
}
