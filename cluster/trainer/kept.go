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

// keeper has what trainings have left on a node of their datasets. It is idle
// memory (mem.Pool.AddIdle): it goes when others need it or too much is kept, what
// was left longest ago first. What it has on disk goes likewise, and when nobody has
// asked for it for a while. Its methods may be called from any goroutine.
type keeper struct {
	pool *mem.Pool
	log  *slog.Logger
	room func() (int64, error) // on disk
	now  func() time.Time

	mu    sync.Mutex
	byKey map[[32]byte]*kept
	order *list.List   // of *kept, the last one left in front
	bytes atomic.Int64 // read by who lets others in while one goes
}

// kept is a node's part of a dataset that nobody uses.
type kept struct {
	source  train.Source
	origin  string   // the group that made it: parts of one origin belong together
	members []uint64 // of that
	root    []byte   // the driver's Encoded, where it was here
	acct    *mem.Account
	data    *train.Dataset
	bytes   int64
	disk    int64
	since   time.Time
	at      *list.Element
}

// keptShare is how much of a node's memory kept datasets may take together; one may
// take more. keptDisk is how much of the disk space that would be free without them, and
// keptFor how long those are kept that have any.
const (
	keptShare = 0.25
	keptDisk  = 0.25
	keptFor   = time.Hour
)

// newKeeper makes a node's. dir is where its files are.
func newKeeper(pool *mem.Pool, log *slog.Logger, dir string) *keeper {
	k := &keeper{pool: pool, log: log, byKey: map[[32]byte]*kept{}, order: list.New(), now: time.Now}
	k.room = func() (int64, error) { return disk.Free(dir) }
	pool.AddIdle(k.bytes.Load, k.shed)
	return k
}

// put keeps a part, whose blocks are charged to the node. What was there of the same
// rows goes.
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

// fit lets those go that are on disk where that is wanted, or have been there for long;
// under the lock.
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

// find returns what there is under a key.
func (k *keeper) find(key [32]byte) (d keptMsg) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if have := k.byKey[key]; have != nil {
		d = keptMsg{Origin: have.origin, Members: have.members, Root: have.root}
	}
	return d
}

// take returns a part of an origin and keeps it no longer; nil where it has gone.
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

// remove takes a part out; under the lock.
func (k *keeper) remove(d *kept) {
	delete(k.byKey, d.source.Key)
	k.order.Remove(d.at)
	k.bytes.Add(-d.bytes)
}

// drop lets a part go; under the lock.
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

// shed lets parts of n bytes go, and says how many bytes went.
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

// prune lets those go of which a table is not as it was, and those that fit does.
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

// Prune lets datasets go of which a table is not as it was: they will not be asked
// for again.
func (t *Trainer) Prune(same func(train.Table) bool) { t.kept.prune(same) }

// keep keeps the part's dataset when its training is over.
func (p *part) keep(src train.Source, root []byte) {
	p.sent.drain() // the training is over, though the part may be here for a while
	if d := p.w.Leave(p.t.cfg.Pool); d != nil {
		p.t.kept.put(&kept{source: src, origin: p.name, members: p.members, root: root, data: d})
	}
}

// over gives the part's worker what an origin has left here, instead of rows.
func (p *part) over(key [32]byte, origin string) error {
	d := p.t.kept.take(key, origin)
	if d == nil {
		return pgerr.New(pgerr.ConnectionFailure, "the dataset that training %s has left is not there any more", origin)
	}
	err := p.w.Take(d.data, len(p.members), p.self, func(worker int) int {
		return slices.Index(p.members, d.members[worker]) // Over compares the members
	})
	if err != nil {
		return errors.Join(err, d.data.Close())
	}
	return nil
}
