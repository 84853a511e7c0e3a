package trainer

import (
	"container/list"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// keeper is a node's cache of the datasets of past trainings. It is idle memory
// (mem.Pool.AddIdle): parts are evicted, the oldest first, when others need the memory
// or too much is kept. Parts on disk are evicted likewise, and when they have not been
// used for a while. Its methods may be called from any goroutine.
type keeper struct {
	pool *mem.Pool
	log  *slog.Logger
	room func() (int64, error) // free disk space
	now  func() time.Time

	mu    sync.Mutex
	byKey map[[32]byte]*kept
	order *list.List   // of *kept, newest in front
	bytes atomic.Int64 // atomic, since it is read while a part is being evicted
}

// kept is a node's part of a cached dataset.
type kept struct {
	source  train.Source
	origin  string   // the group that made it: parts with the same origin belong together
	members []uint64 // of that group
	root    []byte   // the driver's encoded train.Encoded, on the driver's node only
	acct    *mem.Account
	data    *train.Dataset
	bytes   int64
	disk    int64
	since   time.Time
	at      *list.Element
}

// keptShare bounds the fraction of a node's memory that cached datasets take together;
// a single one may take more. keptDisk bounds their fraction of the disk space that
// would be free without them, and keptFor is how long parts on disk are kept.
const (
	keptShare = 0.25
	keptDisk  = 0.25
	keptFor   = time.Hour
)

// newKeeper makes a node's keeper; its files are in dir.
func newKeeper(pool *mem.Pool, log *slog.Logger, dir string) *keeper {
	k := &keeper{pool: pool, log: log, byKey: map[[32]byte]*kept{}, order: list.New(), now: time.Now}
	k.room = func() (int64, error) { return disk.Free(dir) }
	pool.AddIdle(k.bytes.Load, k.shed)
	return k
}

// put keeps a part, whose blocks are charged to the node. It replaces a part of the
// same rows.
func (k *keeper) put(d *kept) {
	d.acct = k.pool.Account("kept dataset", false)
	if err := d.acct.Grow(int64(len(d.root)) + 4096); err != nil {
		k.free(d)
		return
	}
	d.bytes, d.disk, d.since = d.acct.Used()+d.data.Bytes(), d.data.OnDisk(), k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.byKey[d.source.Key]; old != nil {
		k.drop(old)
	}
	k.byKey[d.source.Key], d.at = d, k.order.PushFront(d)
	k.bytes.Add(d.bytes)
	for k.order.Len() > 1 && float64(k.bytes.Load()) > keptShare*float64(k.pool.Limit()) {
		k.drop(k.order.Back().Value.(*kept))
	}
	k.fit()
}

// fit evicts parts on disk that take too much space or have been there for too long;
// the lock is held.
func (k *keeper) fit() {
	var on int64
	for at := k.order.Front(); at != nil; at = at.Next() {
		on += at.Value.(*kept).disk
	}
	if on == 0 {
		return
	}
	free, err := k.room()
	for at := k.order.Back(); at != nil; {
		d := at.Value.(*kept)
		at = at.Prev()
		if d.disk > 0 && (err != nil || float64(on) > keptDisk*(float64(free)+float64(on)) || k.now().Sub(d.since) > keptFor) {
			k.drop(d)
			on, free = on-d.disk, free+d.disk
		}
	}
}

// find describes the part with a key, if there is one.
func (k *keeper) find(key [32]byte) (d keptMsg) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if have := k.byKey[key]; have != nil {
		d = keptMsg{Origin: have.origin, Members: have.members, Root: have.root}
	}
	return d
}

// take removes the part of an origin and returns it; nil where there is none any more.
func (k *keeper) take(key [32]byte, origin string) *kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.byKey[key]
	if d == nil || d.origin != origin {
		return nil
	}
	k.remove(d)
	d.acct.Close()
	return d
}

// remove removes a part from the cache; the lock is held.
func (k *keeper) remove(d *kept) {
	delete(k.byKey, d.source.Key)
	k.order.Remove(d.at)
	k.bytes.Add(-d.bytes)
}

// drop removes a part and frees it; the lock is held.
func (k *keeper) drop(d *kept) {
	k.remove(d)
	k.free(d)
}

func (k *keeper) free(d *kept) {
	d.acct.Close()
	if err := d.data.Close(); err != nil {
		k.log.Warn("closing a kept dataset", "training", d.origin, "error", err)
	}
}

// shed evicts parts of at least n bytes, if there are as many, and returns how many
// bytes were freed.
func (k *keeper) shed(n int64) (freed int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for freed < n && k.order.Len() > 0 {
		d := k.order.Back().Value.(*kept)
		freed += d.bytes
		k.drop(d)
	}
	return freed
}

// prune evicts parts of which a table has changed, and those that fit evicts.
func (k *keeper) prune(same func(train.Table) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fit()
	for at := k.order.Front(); at != nil; {
		d := at.Value.(*kept)
		at = at.Next()
		for _, t := range d.source.Tables {
			if !same(t) {
				k.drop(d)
				break
			}
		}
	}
}

// Prune evicts datasets of which a table has changed: they will never be used again.
func (t *Trainer) Prune(same func(train.Table) bool) { t.kept.prune(same) }

// keep keeps the part's dataset when its training is over.
func (p *part) keep(src train.Source, root []byte) {
	p.sent.drain() // the training is over, though the part may be here for a while
	if d := p.w.Leave(p.t.cfg.Pool); d != nil {
		p.t.kept.put(&kept{source: src, origin: p.name, members: p.members, root: root, data: d})
	}
}

// takeCached hands the part's worker the cached part of an origin, instead of rows.
func (p *part) takeCached(key [32]byte, origin string) error {
	d := p.t.kept.take(key, origin)
	if d == nil {
		return pgerr.New(pgerr.ConnectionFailure, "the dataset that training %s has left is not there any more", origin)
	}
	err := p.w.Take(d.data, func(worker int) int {
		return slices.Index(p.members, d.members[worker]) // OpenCached compares the members
	})
	if err != nil {
		return errors.Join(err, d.data.Close())
	}
	return nil
}
