package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Cache is a store's files as copies of those in the cluster's storage.
type Cache struct {
	fs  disk.FS
	dir string
	// remove removes a file, unless somebody has it open or is about to; used is when it was opened last, 0 where that is not known.
	remove func(catalog.SegmentID) bool
	used   func(catalog.SegmentID) int64
	fetch  func(context.Context, *catalog.Segment) error

	// Tight reports whether what statements have open of the storage, inUse bytes, is so much that a further file should go as soon
	// as its rows are read. It is set before the first statement; nil: it never is.
	Tight func(inUse int64) bool

	held, hits, inUse atomic.Int64
	passed            atomic.Bool // a file was given back since Passed was asked

	mu     sync.Mutex
	wanted map[catalog.SegmentID]int // readers who are about to open a file

	ctx   context.Context // of what is got ahead
	stop  context.CancelFunc
	ahead chan struct{}
	wg    sync.WaitGroup
}

// mostAhead is how many files are got ahead at once.
const mostAhead = 4

func (c *Cache) init() {
	c.wanted, c.ahead = map[catalog.SegmentID]int{}, make(chan struct{}, mostAhead)
	c.ctx, c.stop = context.WithCancel(context.Background())
}

// end ends what is got ahead.
func (c *Cache) end() {
	c.stop()
	c.wg.Wait()
}

// Held returns about how many bytes the files have together.
func (c *Cache) Held() int64 { return c.held.Load() }

// Passed reports whether a statement has given back a file before its end since it was asked last: more may be removed than then.
func (c *Cache) Passed() bool { return c.passed.Swap(false) }

// tight reports whether a file is to be given back as soon as its rows are read.
func (c *Cache) tight(g *catalog.Segment) bool {
	return c.Tight != nil && g.Inline == nil && g.InBucket() && c.Tight(c.inUse.Load())
}

// Hits counts how often a file that is in the storage was opened and was here.
func (c *Cache) Hits() int64 { return c.hits.Load() }

// want keeps a file here, once it is, until the caller has opened it.
func (c *Cache) want(id catalog.SegmentID) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted[id]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.wanted[id]--; c.wanted[id] == 0 {
			delete(c.wanted, id)
		}
	}
}

func (c *Cache) isWanted(id catalog.SegmentID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted[id] > 0
}

// Evict removes files that may go, the least recently used first, until all have at most limit bytes together. What statements
// have open stays. It returns how many it removed.
func (c *Cache) Evict(limit int64, may func(catalog.SegmentID) bool) (removed int, err error) {
	entries, err := c.fs.ReadDir(c.dir)
	if err != nil {
		return 0, ioError(err, "read", c.dir)
	}
	type copied struct {
		id   catalog.SegmentID
		size int64
		used int64
	}
	var all []copied
	held := int64(0)
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), fileSuffix)
		id, ok := catalog.ParseSegmentID(name)
		st, err := e.Info()
		if !is || !ok || err != nil {
			continue
		}
		held += st.Size()
		if may(id) {
			all = append(all, copied{id, st.Size(), max(st.ModTime().UnixNano(), c.used(id))})
		}
	}
	c.held.Store(held)
	slices.SortFunc(all, func(a, b copied) int { return cmp.Or(cmp.Compare(a.used, b.used), bytes.Compare(a.id[:], b.id[:])) })
	for _, x := range all {
		if held <= limit {
			break
		}
		if c.remove(x.id) {
			held -= x.size
			removed++
		}
	}
	return removed, nil
}

// Prefetch begins to get files that the storage has and this node has not, a few at once.
func (p *Pin) Prefetch(segs []*catalog.Segment) {
	c := &p.store.Cache
	for _, g := range segs {
		if p.store.remote == nil || g.Inline != nil || !g.InBucket() || p.store.Has(g.ID) {
			continue
		}
		select {
		case c.ahead <- struct{}{}:
		default:
			return
		}
		c.wg.Go(func() {
			defer func() { <-c.ahead }()
			_ = c.fetch(c.ctx, g) // whoever reads it meets the error again
		})
	}
}
